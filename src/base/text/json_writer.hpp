// JSON text, written piece by piece.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace weft::base {

/// Appends JSON to a text. The caller balances begin_ and end_ calls; commas are added automatically.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& text) noexcept : text_(text) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  /// Writes the name of the next value of an object.
  JsonWriter& name(std::string_view name) {
    separate();
    quote(name);
    text_ += ':';
    is_first_ = true;
    return *this;
  }
  void text(std::string_view value) {
    separate();
    quote(value);
  }
  void boolean(bool value) {
    separate();
    text_ += value ? "true" : "false";
  }
  void number(std::int64_t value) {
    separate();
    text_ += std::to_string(value);
  }
  /// Writes text that is JSON already.
  void literal(std::string_view value) {
    separate();
    text_ += value;
  }
  void number(std::uint64_t value) {
    separate();
    text_ += std::to_string(value);
  }
  /// Writes a number with six digits behind the point; infinities and NaN become null, as JSON has no such
  /// numbers.
  void real(double value) {
    separate();
    char digits[64];
    std::snprintf(digits, sizeof digits, "%.6f", value);
    text_ += std::isfinite(value) ? digits : "null";
  }

 private:
  void open(char bracket) {
    separate();
    text_ += bracket;
    is_first_ = true;
  }
  void close(char bracket) {
    text_ += bracket;
    is_first_ = false;
  }
  void separate() {
    if (!is_first_) text_ += ',';
    is_first_ = false;
  }
  void quote(std::string_view value) {
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        text_ += escape;
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string& text_;
  bool is_first_ = true;
};

}  // namespace weft::base
