#include "common/commands/manual_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace weft::tools {
namespace {

/// Text in which no letter is a command of roff.
std::string escaped(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    begins_line = c == '\n';
  }
  return out;
}

std::string hyphenated(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

void append_item(std::string& page, const std::string& term, const std::string& text) {
  fmt::format_to(std::back_inserter(page), ".TP\n.B {}\n{}\n", term, escaped(text));
}

void append_option(std::string& page, const OptionDescription& option) {
  std::string term;
  for (const std::string& name : option.names)
    term += fmt::format("{}{}", term.empty() ? "" : "\\fR, \\fB",
                        escaped(option.is_argument ? option.value : name));
  if (option.takes_value() && !option.is_argument) term += fmt::format(" \\fI{}\\fR", escaped(option.value));
  append_item(page, term, option.help);
}

std::string synopsis(const CommandDescription& command) {
  std::string line = fmt::format(".B {}\n", escaped(command.name));
  if (!command.options.empty()) line += "[\\fIOPTIONS\\fR]\n";
  if (command.starts_program) line += "[\\-\\-] \\fIPROGRAM\\fR [\\fIARGUMENTS\\fR...]\n";
  for (const OptionDescription& argument : command.arguments)
    line += fmt::format("\\fI{}\\fR...\n", escaped(argument.value));
  return line;
}

void append_options(std::string& page, const CommandDescription& command) {
  for (const OptionDescription& argument : command.arguments) append_option(page, argument);
  for (const OptionDescription& option : command.options) append_option(page, option);
}

}  // namespace

std::string manual_page(const CommandDescription& command, const ManualNotes& notes,
                        std::string_view version) {
  const std::string name = hyphenated(command.name);
  std::string capitals = name;
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  std::string page =
      fmt::format(".TH {} 1 \"\" \"weft {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}",
                  escaped(capitals), version, escaped(name), escaped(notes.short_summary), synopsis(command));
  for (const CommandDescription& below : command.commands)
    if (!below.options.empty()) page += fmt::format(".br\n{}", synopsis(below));
  page += fmt::format(".SH DESCRIPTION\n{}\n", escaped(command.summary));
  if (!command.options.empty() || !command.arguments.empty()) {
    page += ".SH OPTIONS\n";
    append_options(page, command);
  }
  if (!command.commands.empty()) page += ".SH COMMANDS\n";
  for (const CommandDescription& below : command.commands) {
    if (below.options.empty()) {
      append_item(page, escaped(below.name), below.summary);
      continue;
    }
    page += fmt::format(".SS {}\n{}\n", escaped(below.name), escaped(below.summary));
    append_options(page, below);
  }
  page += ".SH EXIT STATUS\n";
  append_item(page, "0", "The command has done what it was asked for.");
  append_item(page, "1", "It could not; standard error says why, in one line.");
  append_item(page, "2", "The command line is wrong.");
  for (const auto& [code, meaning] : notes.exit_codes) append_item(page, code, meaning);
  if (!notes.environment.empty()) page += ".SH ENVIRONMENT\n";
  for (const auto& [variable, meaning] : notes.environment) append_item(page, escaped(variable), meaning);
  if (!command.footer.empty()) page += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", escaped(command.footer));
  if (!notes.see_also.empty()) page += ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < notes.see_also.size(); ++i)
    page += escaped(notes.see_also[i]) + (i + 1 < notes.see_also.size() ? ",\n" : "\n");
  return page;
}

}  // namespace weft::tools
