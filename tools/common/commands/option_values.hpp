// Values of options: read whole, or refused by a line that names the option, the value, and what would be
// right.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft::tools {

/// What a command line has wrong; what() is one line, without the name of the program.
class OptionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A decimal integer within the bounds. Throws OptionError.
std::int64_t integer_value(std::string_view option, const std::string& text, std::int64_t least,
                           std::int64_t most);
/// A finite decimal number within the bounds. Throws OptionError.
double number_value(std::string_view option, const std::string& text, double least, double most);
/// One of the words of "a|b|c". Throws OptionError.
const std::string& choice_value(std::string_view option, const std::string& text, std::string_view choices);

// Options whose values are read as above, when the command line is parsed; lists have commas between.

template <class Integer>
CLI::Option* add_integer(CLI::App& app, const std::string& name, Integer& target, std::int64_t least,
                         std::int64_t most, const std::string& help);
CLI::Option* add_integers(CLI::App& app, const std::string& name, std::vector<std::uint32_t>& target,
                          std::int64_t least, std::int64_t most, const std::string& help);
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& target,
                        const std::string& choices, const std::string& help);

}  // namespace weft::tools
