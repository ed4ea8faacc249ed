#include "common/commands/completion.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/commands/completion_shells.hpp"

namespace weft::tools {

std::optional<Shell> shell_of(std::string_view name) {
  if (name == "bash") return Shell::bash;
  if (name == "zsh") return Shell::zsh;
  if (name == "fish") return Shell::fish;
  return std::nullopt;
}

std::string function_of(const CommandDescription& command) {
  std::string name = "_" + command.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return name;
}

std::string last_word(const CommandDescription& command) {
  return command.name.substr(command.name.rfind(' ') + 1);
}

std::string first_clause(const std::string& help) { return help.substr(0, help.find_first_of(";(\n")); }

std::string completion_start(Shell shell, std::string_view program) {
  return shell == Shell::zsh ? fmt::format("#compdef {}\n", program) : "";
}

std::string completion_part(Shell shell, const CommandDescription& command, bool is_program) {
  switch (shell) {
    case Shell::bash:
      return bash_completion(command, is_program);
    case Shell::zsh:
      return zsh_completion(command, is_program);
    case Shell::fish:
      return fish_completion(command, is_program);
  }
  return {};
}

}  // namespace weft::tools
