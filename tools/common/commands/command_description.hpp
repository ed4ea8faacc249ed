// What a command line takes, as data: manual pages and the completion of shells are made from it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft::tools {

struct OptionDescription {
  std::vector<std::string> names = {};    ///< "-o", "--output"; one name without hyphens for an argument
  std::string value = {};                 ///< "FILE"; empty for a flag
  std::vector<std::string> choices = {};  ///< where the value is one of these words
  std::string help = {};
  bool is_argument = false;

  [[nodiscard]] bool takes_value() const { return !value.empty(); }
  [[nodiscard]] bool takes_files() const;
  [[nodiscard]] bool takes_folders() const { return value == "DIR"; }
};

struct CommandDescription {
  std::string name = {};  ///< "weft run"
  std::string summary = {};
  std::vector<OptionDescription> options = {};
  std::vector<OptionDescription> arguments = {};
  std::vector<CommandDescription> commands = {};  ///< below it
  std::string footer = {};
  bool starts_program = false;  ///< the rest of the line is a program and its arguments
};

OptionDescription describe(const CLI::Option& option);
/// Reads everything from the options that the parser knows.
CommandDescription describe(const CLI::App& app);
/// "-o", "--output", ...
std::vector<std::string> names_of_options(const CLI::App& app);

}  // namespace weft::tools
