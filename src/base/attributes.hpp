#pragma once

#include <weft/attributes.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/attribute_table.hpp"

namespace weft::base {

enum class Source : std::uint8_t { default_value, environment, program };

std::string_view to_string(Source source);
std::string_view to_string(AttributeType type);

/// The effective attributes of a runtime: every row of the table with a checked value and its source.
/// The program's settings win over the environment, which wins over the defaults.
class Attributes {
 public:
  /// Throws weft::Error for an unknown name (with the nearest one), a value that does not parse or lies
  /// outside its range, and for values that contradict each other. The environment is checked
  /// completely, also where the program overrides it.
  static Attributes load(std::span<const AttributeSetting> program_settings = {});
  /// The same with an explicit environment: an array of "NAME=value" that ends with a null pointer.
  static Attributes load(std::span<const AttributeSetting> program_settings, const char* const* environment);

  /// For integer, size and boolean (0 or 1); for a choice, its index in the row's list.
  std::int64_t integer(Attribute attribute) const { return value_of(attribute).number; }
  bool boolean(Attribute attribute) const { return value_of(attribute).number != 0; }
  double seconds(Attribute attribute) const { return value_of(attribute).seconds; }
  /// The value in its canonical spelling (8192 is "8K"); for a choice, its name. Valid as long as this.
  std::string_view text(Attribute attribute) const { return value_of(attribute).text; }
  Source source(Attribute attribute) const { return value_of(attribute).source; }

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
};

/// WEFT_PACKET_SIZE for packet_size.
std::string environment_name(const AttributeRow& row);

/// What a value of this row may be, for messages and `weft info`: "1K to 1M", "auto or shm", "yes or no".
std::string range_text(const AttributeRow& row);

/// True for the variables that the launcher and the tests set: they are no attributes.
bool is_reserved_variable(std::string_view name);

}  // namespace weft::base
