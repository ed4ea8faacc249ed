// Completion of command lines by bash, zsh and fish.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/commands/command_description.hpp"

namespace weft::tools {

enum class Shell { bash, zsh, fish };
std::optional<Shell> shell_of(std::string_view name);

/// The line that a script for this program begins with; empty for a shell that needs none.
std::string completion_start(Shell shell, std::string_view program);

/// The functions of a script that complete what follows a command and the commands below it; `is_program`:
/// the shell calls the command itself, so that the part ends a script. The parts of a program whose commands
/// are parsed elsewhere follow one another: first those of the commands, then the program's.
std::string completion_part(Shell shell, const CommandDescription& command, bool is_program);

}  // namespace weft::tools
