// Values of options: read whole, or refused by a line that names the option, the value, and what would be
// right.
#pragma once

#include <weft/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft::tools {

/// What a command line has wrong; what() is one line, without the name of the program.
class OptionError : public Error {
 public:
  using Error::Error;
};

/// A decimal integer within the bounds. Throws OptionError.
std::int64_t integer_value(std::string_view option, const std::string& text, std::int64_t least,
                           std::int64_t most);
/// A finite decimal number within the bounds. Throws OptionError.
double number_value(std::string_view option, const std::string& text, double least, double most);
/// Bytes within the bounds: a decimal number, with K, M, G or T (powers of 1024; KiB and kB as well). Throws
/// OptionError.
std::int64_t size_value(std::string_view option, const std::string& text, std::int64_t least,
                        std::int64_t most);
/// One of the words of "a|b|c". Throws OptionError.
const std::string& choice_value(std::string_view option, const std::string& text, std::string_view choices);

// Options whose values are read as above, when the command line is parsed; lists have commas between.

template <class Integer>
CLI::Option* add_integer(CLI::App& app, const std::string& name, Integer& target, std::int64_t least,
                         std::int64_t most, const std::string& help);
template <class Integer>
CLI::Option* add_integers(CLI::App& app, const std::string& name, std::vector<Integer>& target,
                          std::int64_t least, std::int64_t most, const std::string& help);
CLI::Option* add_sizes(CLI::App& app, const std::string& name, std::vector<std::uint32_t>& target,
                       std::int64_t least, std::int64_t most, const std::string& help);
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& target,
                        const std::string& choices, const std::string& help);

}  // namespace weft::tools
