#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::base {

// Each parse function parses the whole text or returns nullopt; no locale, no leading or trailing blanks.

/// A decimal integer, with an optional sign.
std::optional<std::int64_t> parse_integer(std::string_view text);
/// Bytes: a decimal number with an optional suffix K, M, G or T (powers of 1024; also KiB, kB and so on).
std::optional<std::int64_t> parse_size(std::string_view text);
/// A duration, in seconds: a finite decimal number, not negative, with a suffix ns, us, ms, s, m (also min)
/// or h; a plain number counts in units of `plain_unit` seconds.
std::optional<double> parse_seconds(std::string_view text, double plain_unit = 1);
/// The duration in whole units of `unit` seconds, as which a plain number is read; none where it lies between
/// two of them.
std::optional<std::int64_t> parse_whole_duration(std::string_view text, double unit);
/// For messages: what parse_seconds() takes.
inline constexpr std::string_view kDurationForm = "a duration such as 500ms, 30s or 2m";
/// Accepts yes, no, true, false, on, off, 1, 0.
std::optional<bool> parse_boolean(std::string_view text);

/// 8192 as "8K", 1000 as "1000": the shortest exact spelling that parse_size() reads back.
std::string size_text(std::int64_t bytes);
/// The shortest spelling that parse_seconds() reads back to the same number.
std::string seconds_text(double seconds);

/// The number of insertions, deletions and replacements that turn one text into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace weft::base
