#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "common/commands/completion_shells.hpp"

namespace weft::tools {
namespace {

/// Text within single quotes; `special`: letters that mean something to the function that reads it.
std::string quoted(const std::string& text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string action_of(const OptionDescription& option) {
  if (!option.choices.empty()) return fmt::format("({})", fmt::join(option.choices, " "));
  if (option.takes_folders()) return "_files -/";
  return option.takes_files() ? "_files" : " ";
}

std::string arguments_of(const CommandDescription& command) {
  std::string text;
  for (const OptionDescription& option : command.options)
    for (const std::string& name : option.names) {
      text += fmt::format(" \\\n    '*{}[{}]", name, quoted(first_clause(option.help), "[]:\\"));
      if (option.takes_value())
        text += fmt::format(":{}:{}", quoted(option.value, ":\\"), quoted(action_of(option), ""));
      text += "'";
    }
  if (command.starts_program)
    text += " \\\n    '(-)1:program:_command_names -e' \\\n    '*::arguments:_normal'";
  for (const OptionDescription& argument : command.arguments)
    text += fmt::format(" \\\n    '*:{}:{}'", argument.value, action_of(argument));
  return text;
}

}  // namespace

std::string zsh_completion(const CommandDescription& command, bool is_program) {
  std::string script;
  auto out = std::back_inserter(script);
  for (const CommandDescription& below : command.commands)
    if (!below.options.empty()) script += zsh_completion(below, false);
  const std::string function = function_of(command);
  fmt::format_to(out, "{}() {{\n", function);
  if (!command.commands.empty()) {
    script += "  local -a commands=(";
    for (const CommandDescription& below : command.commands)
      fmt::format_to(out, "\n    '{}:{}'", last_word(below), quoted(first_clause(below.summary), ":\\"));
    script += ")\n";
    fmt::format_to(out,
                   "  if ((CURRENT > 2)) && [[ -n ${{(M)commands:#$words[2]:*}} ]]; then\n"
                   "    local next={}_$words[2]\n"
                   "    shift words; ((--CURRENT))\n"
                   "    (($+functions[$next])) && $next\n"
                   "    return\n"
                   "  fi\n"
                   "  ((CURRENT == 2)) && _describe command commands\n",
                   function);
  }
  fmt::format_to(out, "  _arguments{}\n}}\n", arguments_of(command));
  // The shell calls the file as a function that is named like it; who sources it registers the function.
  if (is_program)
    fmt::format_to(out, "if [[ $funcstack[1] == _{1} ]]; then {0} \"$@\"; else compdef {0} {1}; fi\n",
                   function, command.name);
  return script;
}

}  // namespace weft::tools
