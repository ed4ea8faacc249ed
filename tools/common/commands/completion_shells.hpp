// What the completion of the three shells has in common; for completion.cpp only.
#pragma once

#include <string>

#include "common/commands/command_description.hpp"

namespace weft::tools {

/// "_weft_run" for "weft run": the function of a command in bash and zsh.
std::string function_of(const CommandDescription& command);
/// "run" for "weft run".
std::string last_word(const CommandDescription& command);
/// The first sentence of a help text, which fits beside a name.
std::string first_clause(const std::string& help);

std::string bash_completion(const CommandDescription& command, bool is_program);
std::string zsh_completion(const CommandDescription& command, bool is_program);
std::string fish_completion(const CommandDescription& command, bool is_program);

}  // namespace weft::tools
