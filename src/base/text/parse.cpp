#include "base/text/parse.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace weft::base {
namespace {

bool same_ignoring_case(std::string_view a, std::string_view lower) {
  return std::equal(a.begin(), a.end(), lower.begin(), lower.end(), [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x) == y;
  });
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = parse_integer(text.substr(0, digits));
  if (!value) return std::nullopt;
  std::string_view suffix = text.substr(digits);
  if (suffix.empty() || same_ignoring_case(suffix, "b")) return value;

  constexpr std::string_view kPrefixes = "kmgt";
  const std::size_t power = kPrefixes.find(static_cast<char>(suffix.front() | 0x20));
  if (power == std::string_view::npos) return std::nullopt;
  suffix.remove_prefix(1);
  if (!suffix.empty() && !same_ignoring_case(suffix, "b") && !same_ignoring_case(suffix, "ib"))
    return std::nullopt;
  const std::int64_t unit = std::int64_t{1} << (10 * (power + 1));
  if (*value > std::numeric_limits<std::int64_t>::max() / unit) return std::nullopt;
  return *value * unit;
}

std::optional<double> parse_seconds(std::string_view text, double plain_unit) {
  struct Unit {
    std::string_view suffix;
    double seconds;
  };
  // Those that end with another one come first.
  constexpr std::array kUnits{Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1},
                              Unit{"min", 60},  Unit{"m", 60},    Unit{"h", 3600}};
  double unit = plain_unit;
  for (const Unit& each : kUnits) {
    if (!text.ends_with(each.suffix)) continue;
    unit = each.seconds;
    text.remove_suffix(each.suffix.size());
    break;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value * unit) || value < 0) return std::nullopt;
  return value * unit;
}

std::optional<std::int64_t> parse_whole_duration(std::string_view text, double unit) {
  if (const auto plain = parse_integer(text)) return *plain < 0 ? std::nullopt : plain;
  const auto seconds = parse_seconds(text, unit);
  constexpr double kMost = 9e15;  // below which a double tells every integer
  if (!seconds || *seconds / unit > kMost) return std::nullopt;
  const double units = std::round(*seconds / unit);
  // What decimal fractions lose in binary is no part of a unit.
  if (std::abs(*seconds / unit - units) > 1e-6 * std::max(units, 1e-3)) return std::nullopt;
  return static_cast<std::int64_t>(units);
}

std::optional<bool> parse_boolean(std::string_view text) {
  for (const std::string_view word : {"yes", "true", "on", "1"}) {
    if (same_ignoring_case(text, word)) return true;
  }
  for (const std::string_view word : {"no", "false", "off", "0"}) {
    if (same_ignoring_case(text, word)) return false;
  }
  return std::nullopt;
}

std::string size_text(std::int64_t bytes) {
  constexpr std::string_view kSuffixes = "KMGT";
  std::size_t power = 0;
  while (power < kSuffixes.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++power;
  }
  std::string text = std::to_string(bytes);
  if (power > 0) text += kSuffixes[power - 1];
  return text;
}

std::string seconds_text(double seconds) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), seconds);
  return error == std::errc{} ? std::string(buffer.data(), end) : std::to_string(seconds);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace weft::base
