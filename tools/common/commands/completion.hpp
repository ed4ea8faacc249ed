// Completion of command lines by bash.
#pragma once

#include <string>

#include "common/commands/command_description.hpp"

namespace weft::tools {

/// The functions of a script that complete what follows a command and the commands below it; `is_program`:
/// the shell calls the command itself, so that the part ends a script. The parts of a program whose commands
/// are parsed elsewhere follow one another: first those of the commands, then the program's.
std::string bash_completion(const CommandDescription& command, bool is_program);

}  // namespace weft::tools
