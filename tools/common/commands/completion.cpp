#include "common/commands/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace weft::tools {
namespace {

/// "_weft_run" for "weft run".
std::string function_of(const CommandDescription& command) {
  std::string name = "_" + command.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return name;
}

/// "run" for "weft run".
std::string last_word(const CommandDescription& command) {
  return command.name.substr(command.name.rfind(' ') + 1);
}

std::string case_of(const OptionDescription& option) {
  const std::string names = fmt::format("{}", fmt::join(option.names, " | "));
  if (!option.choices.empty())
    return fmt::format("    {}) mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\"); return ;;\n",
                       names, fmt::join(option.choices, " "));
  if (option.takes_files() || option.takes_folders())
    return fmt::format(
        "    {}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -{} -- \"$current\"); return ;;\n",
        names, option.takes_folders() ? "d" : "f");
  return fmt::format("    {}) return ;;\n", names);
}

/// The words that may stand where no value of an option is expected.
std::string words_of(const CommandDescription& command) {
  std::string words;
  for (const OptionDescription& option : command.options)
    for (const std::string& name : option.names) words.append(" ").append(name);
  for (const CommandDescription& below : command.commands) words.append(" ").append(last_word(below));
  return words.empty() ? words : words.substr(1);
}

}  // namespace

std::string bash_completion(const CommandDescription& command, bool is_program) {
  std::string script;
  auto out = std::back_inserter(script);
  std::string values = " ";
  std::string cases;
  for (const OptionDescription& option : command.options) {
    if (!option.takes_value()) continue;
    for (const std::string& name : option.names) values += name + " ";
    cases += case_of(option);
  }
  for (const CommandDescription& below : command.commands)
    if (!below.options.empty()) script += bash_completion(below, false);

  const std::string function = function_of(command);
  fmt::format_to(out, "{}() {{  # $1: the index of the first word behind \"{}\"\n", function, command.name);
  fmt::format_to(
      out,
      "  local index word current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local values='{}'\n"
      "  for ((index = $1; index < COMP_CWORD; ++index)); do\n"
      "    word=${{COMP_WORDS[index]}}\n"
      "    if [[ $values == *\" $word \"* ]]; then ((++index)); continue; fi\n",
      values);
  if (command.starts_program)
    script +=
        "    if [[ $word == -- ]]; then ((++index)); fi\n"
        "    [[ $word == -* && $word != -- ]] && continue\n"
        "    if declare -F _command_offset >/dev/null; then _command_offset \"$index\"; return; fi\n"
        "    compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return\n";
  if (!command.commands.empty()) {
    script += "    case $word in\n";
    for (const CommandDescription& below : command.commands)
      if (!below.options.empty() || is_program)
        fmt::format_to(out, "      {0}) declare -F {1} >/dev/null && {1} $((index + 1)); return ;;\n",
                       last_word(below), function_of(below));
    script += "    esac\n";
  }
  script += "  done\n";
  if (!cases.empty()) script += "  case $previous in\n" + cases + "  esac\n";
  const bool takes_files =
      command.starts_program || (!command.arguments.empty() && command.arguments.front().takes_files());
  if (takes_files)
    fmt::format_to(
        out,
        "  if [[ $current != -* ]]; then\n    compopt -o filenames\n"
        "    mapfile -t COMPREPLY < <(compgen -{} -- \"$current\"; compgen -W '{}' -- \"$current\")\n"
        "    return\n  fi\n",
        command.starts_program ? "c -A file" : "f", command.starts_program ? "" : words_of(command));
  fmt::format_to(out, "  mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\")\n}}\n", words_of(command));
  if (is_program)
    fmt::format_to(out, "{0}_of_program() {{ {0} 1; }}\ncomplete -F {0}_of_program {1}\n", function,
                   command.name);
  return script;
}

}  // namespace weft::tools
