#include "common/commands/option_values.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

namespace weft::tools {
namespace {

template <class Number>
bool read_whole(const std::string& text, Number& value) {
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && rest == text.data() + text.size();
}

/// "a, b or c" of "a|b|c".
std::string listed(std::string_view choices) {
  const std::vector<std::string> words = CLI::detail::split(std::string(choices), '|');
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
  return text;
}

/// 1024 to the power that the unit names; none where it is no unit.
std::optional<std::int64_t> unit_of(std::string_view text) {
  constexpr std::string_view kPrefixes = "kmgt";
  std::string unit;
  for (const char c : text) unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (unit.empty() || unit == "b") return 1;
  const std::size_t power = kPrefixes.find(unit.front());
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) return std::nullopt;
  return std::int64_t{1} << (10 * (power + 1));
}

/// 8192 as "8K", 1000 as "1000".
std::string size_text(std::int64_t bytes) {
  constexpr std::string_view kPrefixes = "KMGT";
  std::size_t power = 0;
  while (power < kPrefixes.size() && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++power;
  }
  return std::to_string(bytes) + (power == 0 ? "" : std::string(1, kPrefixes[power - 1]));
}

template <class Values, class Read>
CLI::Option* add_list(CLI::App& app, const std::string& name, Values& target, const std::string& help,
                      const Read& read) {
  const auto read_all = [&target, read](const std::vector<std::string>& texts) {
    target.clear();  // of what is the default
    for (const std::string& text : texts)
      target.push_back(static_cast<typename Values::value_type>(read(text)));
  };
  return app.add_option_function<std::vector<std::string>>(name, read_all, help)
      ->delimiter(',')
      ->allow_extra_args(false);
}

}  // namespace

std::int64_t integer_value(std::string_view option, const std::string& text, std::int64_t least,
                           std::int64_t most) {
  std::int64_t value = 0;
  if (!read_whole(text, value) || value < least || value > most)
    throw OptionError(
        fmt::format("{} {} is not valid: it must be an integer from {} to {}", option, text, least, most));
  return value;
}

double number_value(std::string_view option, const std::string& text, double least, double most) {
  double value = 0;
  if (!read_whole(text, value) || !std::isfinite(value) || value < least || value > most)
    throw OptionError(
        fmt::format("{} {} is not valid: it must be a number from {} to {}", option, text, least, most));
  return value;
}

std::int64_t size_value(std::string_view option, const std::string& text, std::int64_t least,
                        std::int64_t most) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<std::int64_t> unit = unit_of(std::string_view(text).substr(digits));
  std::int64_t value = 0;
  if (!unit || !read_whole(text.substr(0, digits), value) || value > INT64_MAX / *unit ||
      value * *unit < least || value * *unit > most)
    throw OptionError(
        fmt::format("{} {} is not valid: it must be a number of bytes such as 4096 or 16K, from {} to {}",
                    option, text, size_text(least), size_text(most)));
  return value * *unit;
}

const std::string& choice_value(std::string_view option, const std::string& text, std::string_view choices) {
  for (const std::string& word : CLI::detail::split(std::string(choices), '|'))
    if (word == text) return text;
  throw OptionError(fmt::format("{} {} is not valid: it must be {}", option, text, listed(choices)));
}

template <class Integer>
CLI::Option* add_integer(CLI::App& app, const std::string& name, Integer& target, std::int64_t least,
                         std::int64_t most, const std::string& help) {
  const auto read = [&target, name, least, most](const std::string& text) {
    target = static_cast<Integer>(integer_value(name, text, least, most));
  };
  return app.add_option_function<std::string>(name, read, help)->type_name("N");
}
template CLI::Option* add_integer(CLI::App&, const std::string&, int&, std::int64_t, std::int64_t,
                                  const std::string&);
template CLI::Option* add_integer(CLI::App&, const std::string&, std::uint32_t&, std::int64_t, std::int64_t,
                                  const std::string&);
template CLI::Option* add_integer(CLI::App&, const std::string&, std::uint64_t&, std::int64_t, std::int64_t,
                                  const std::string&);

template <class Integer>
CLI::Option* add_integers(CLI::App& app, const std::string& name, std::vector<Integer>& target,
                          std::int64_t least, std::int64_t most, const std::string& help) {
  return add_list(
             app, name, target, help,
             [name, least, most](const std::string& text) { return integer_value(name, text, least, most); })
      ->type_name("N,...");
}

template CLI::Option* add_integers(CLI::App&, const std::string&, std::vector<int>&, std::int64_t,
                                   std::int64_t, const std::string&);
template CLI::Option* add_integers(CLI::App&, const std::string&, std::vector<std::uint32_t>&, std::int64_t,
                                   std::int64_t, const std::string&);

CLI::Option* add_sizes(CLI::App& app, const std::string& name, std::vector<std::uint32_t>& target,
                       std::int64_t least, std::int64_t most, const std::string& help) {
  return add_list(
             app, name, target, help,
             [name, least, most](const std::string& text) { return size_value(name, text, least, most); })
      ->type_name("BYTES,...");
}

CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& target,
                        const std::string& choices, const std::string& help) {
  const auto read = [&target, name, choices](const std::string& text) {
    target = choice_value(name, text, choices);
  };
  return app.add_option_function<std::string>(name, read, help)->type_name(choices);
}

}  // namespace weft::tools
