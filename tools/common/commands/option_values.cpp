#include "common/commands/option_values.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>

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

CLI::Option* add_integers(CLI::App& app, const std::string& name, std::vector<std::uint32_t>& target,
                          std::int64_t least, std::int64_t most, const std::string& help) {
  const auto read = [&target, name, least, most](const std::vector<std::string>& texts) {
    for (const std::string& text : texts)
      target.push_back(static_cast<std::uint32_t>(integer_value(name, text, least, most)));
  };
  return app.add_option_function<std::vector<std::string>>(name, read, help)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N,...");
}

CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& target,
                        const std::string& choices, const std::string& help) {
  const auto read = [&target, name, choices](const std::string& text) {
    target = choice_value(name, text, choices);
  };
  return app.add_option_function<std::string>(name, read, help)->type_name(choices);
}

}  // namespace weft::tools
