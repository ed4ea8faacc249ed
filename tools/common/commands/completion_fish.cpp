#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "common/commands/completion_shells.hpp"

namespace weft::tools {
namespace {

std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return "'" + out + "'";
}

std::string line_of(const std::string& start, const OptionDescription& option) {
  std::string line = start;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    line += (is_long ? " -l " : " -s ") + name.substr(is_long ? 2 : 1);
  }
  if (!option.choices.empty()) {
    line += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
  } else if (option.takes_value()) {
    line += option.takes_files() || option.takes_folders() ? " -r -F" : " -x";
  }
  return fmt::format("{} -d {}\n", line, quoted(first_clause(option.help)));
}

std::string lines_of(const std::string& program, const std::string& condition,
                     const CommandDescription& command) {
  const std::string start = fmt::format("complete -c {} -n '{}'", program, condition);
  std::string lines;
  for (const OptionDescription& option : command.options) lines += line_of(start, option);
  for (const CommandDescription& below : command.commands)
    lines += fmt::format("{} -f -a {} -d {}\n", start, last_word(below), quoted(first_clause(below.summary)));
  for (const CommandDescription& below : command.commands)
    if (!below.options.empty())
      lines += lines_of(program, fmt::format("__fish_seen_subcommand_from {}", last_word(below)), below);
  return lines;
}

}  // namespace

std::string fish_completion(const CommandDescription& command, bool is_program) {
  const std::size_t space = command.name.find(' ');
  const std::string program = command.name.substr(0, space);
  if (!is_program)
    return lines_of(program, fmt::format("__fish_seen_subcommand_from {}", command.name.substr(space + 1)),
                    command);
  std::string names;
  for (const CommandDescription& below : command.commands) names.append(" ").append(last_word(below));
  return lines_of(program, names.empty() ? "true" : "not __fish_seen_subcommand_from" + names, command);
}

}  // namespace weft::tools
