// Parsing of command lines: what CLI11 refuses, in words of weft's own, and the manual page and the
// completion that the build makes of the options.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/commands/manual_page.hpp"

namespace weft::tools {

/// A call that ends with its command line.
struct CommandEnd {
  std::string text;   ///< to print; of an error the line without the program's name
  int exit_code = 0;  ///< 2: `text` says what is wrong
};

/// Parses the command line into the variables of the app's options. A value when the call ends here: --help;
/// `--manual` (the page for man) and `--completion SHELL`, where either is the only option; or an error.
/// Exceptions of callbacks that are no OptionError pass.
std::optional<CommandEnd> parse_command_line(CLI::App& app, int argc, const char* const* argv,
                                             const ManualNotes& notes);

/// Returns true for the command line `PROGRAM --completion bash`.
bool asks_for_completion(int argc, const char* const* argv) noexcept;

/// Answers `--manual` and `--completion SHELL`; nothing where the command line asks for neither.
/// `is_program`: the script is complete, not only the part of a command.
std::optional<CommandEnd> describe_command(const CommandDescription& command, int argc,
                                           const char* const* argv, const ManualNotes& notes,
                                           bool is_program);

/// Prints the text to standard output, or as one line of `command` to standard error; returns the exit code.
int print_end(std::string_view command, const CommandEnd& end);

}  // namespace weft::tools
