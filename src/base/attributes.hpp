#pragma once

#include <weft/attributes.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/attribute_table.hpp"

namespace weft::base {

enum class Source : std::uint8_t { default_value, environment, program };

std::string_view to_string(Source source);
std::string_view to_string(AttributeType type);

/// The effective attributes of a runtime: every row of the table with a checked value and its source.
/// The program's settings win over the environment, which wins over the defaults.
class Attributes {
 public:
  /// Loads all attributes. Throws weft::Error for a name in the program's settings that does not exist, a
  /// value that does not parse or lies outside its range, and for values that contradict each other. The
  /// environment is checked completely, also where the program overrides it; but variables that begin with
  /// WEFT_ may belong to other software (environment modules and CMake set WEFT_ROOT), so names that are no
  /// attribute are only recorded.
  static Attributes load(std::span<const AttributeSetting> program_settings = {});
  /// Loads all attributes from an explicit environment: an array of "NAME=value" that ends with a null
  /// pointer.
  static Attributes load(std::span<const AttributeSetting> program_settings, const char* const* environment);

  /// The value of an integer, size, microseconds or boolean (0 or 1) attribute; for a choice, its index in
  /// the row's list.
  std::int64_t integer(Attribute attribute) const { return value_of(attribute).number; }
  bool boolean(Attribute attribute) const { return value_of(attribute).number != 0; }
  double seconds(Attribute attribute) const { return value_of(attribute).seconds; }
  /// The value in its canonical spelling (8192 is "8K"); for a choice, its name. Valid as long as this
  /// object.
  std::string_view text(Attribute attribute) const { return value_of(attribute).text; }
  Source source(Attribute attribute) const { return value_of(attribute).source; }
  /// A line for each variable of the environment that begins with WEFT_ and names no attribute.
  std::span<const std::string> unknown_variables() const { return unknown_variables_; }

 private:
  struct Value {
    std::int64_t number = 0;
    double seconds = 0;
    std::string text;
    Source source = Source::default_value;
  };

  static Value parse(const AttributeRow& row, std::string_view text, std::string_view shown_name,
                     Source source);
  const Value& value_of(Attribute attribute) const { return values_[static_cast<std::size_t>(attribute)]; }
  void set(const AttributeRow& row, std::string_view text, std::string_view shown_name, Source source);
  void check_consistency() const;

  std::array<Value, kAttributeCount> values_;
  std::vector<std::string> unknown_variables_;
};

/// Returns the environment variable of an attribute: WEFT_PACKET_SIZE for packet_size.
std::string environment_name(const AttributeRow& row);

/// Returns the range of values of a row, for messages and `weft info`: "1K to 1M", "auto or shm", "yes or
/// no".
std::string range_text(const AttributeRow& row);

/// Returns true for the variables that a launcher sets or the bootstrap reads: they are no attributes.
bool is_reserved_variable(std::string_view name);

}  // namespace weft::base
