#include "common/commands/command_line.hpp"

#include <weft/version.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "common/commands/completion.hpp"
#include "common/commands/help_text.hpp"
#include "common/commands/nearest_name.hpp"
#include "common/commands/option_values.hpp"

namespace weft::tools {
namespace {

constexpr int kWrongCommandLine = 2;

/// The command that has read the last words: the app, or one below it.
const CLI::App& last_command(const CLI::App& app) {
  const std::vector<CLI::App*> below = app.get_subcommands();
  return below.empty() ? app : last_command(*below.back());
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CommandDescription& command : describe(app).commands)
    names.push_back(command.name.substr(command.name.rfind(' ') + 1));
  return names;
}

std::string refusal_of_extras(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining(true);
  const CLI::App& command = last_command(app);
  const std::string word = extras.empty() ? "" : extras.front();
  if (word.starts_with('-')) {
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("there is no option {}{}", name, suggestion(name, names_of_options(command)));
  }
  const std::vector<std::string> commands = names_of_commands(command);
  if (!commands.empty()) return fmt::format("there is no \"{}\"{}", word, suggestion(word, commands));
  return fmt::format("\"{}\" belongs to no option", word);
}

/// The option or argument whose name begins the text of the parser's error.
const CLI::Option* option_named_by(const CLI::App& app, std::string_view text) {
  constexpr std::string_view kConversion = "Could not convert: ";
  if (text.starts_with(kConversion)) text.remove_prefix(kConversion.size());
  const CLI::Option* best = nullptr;
  for (const CLI::Option* const option : app.get_options()) {
    const std::string name = option->get_name();
    if (text.starts_with(name) && (best == nullptr || name.size() > best->get_name().size())) best = option;
  }
  return best;
}

std::string refusal_of(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = last_command(app);
  const std::string text = error.what();
  const CLI::Option* const option = option_named_by(command, text);
  const bool lacks_command = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && option == nullptr;
  const bool has_extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (has_extras || (lacks_command && !app.remaining(true).empty())) return refusal_of_extras(app);
  if (lacks_command)
    return fmt::format("a command is missing: {}", fmt::join(names_of_commands(command), ", "));
  if (option == nullptr) return text;
  const OptionDescription about = describe(*option);
  const std::string name = about.is_argument ? about.value : option->get_name();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return fmt::format("{}{} is missing: {}", name, about.is_argument ? "" : " " + about.value, about.help);
  if (!about.takes_value()) return fmt::format("{} takes no value", name);
  if (option->count() > 1) return fmt::format("{} is given {} times: once is enough", name, option->count());
  return fmt::format("{} needs a value: {} {}", name, name, about.value);
}

}  // namespace

std::optional<CommandEnd> describe_command(const CommandDescription& command, int argc,
                                           const char* const* argv, const ManualNotes& notes,
                                           bool is_program) {
  const std::string_view option = argc > 1 ? argv[1] : "";
  if (option == "--manual" && argc == 2) return CommandEnd{manual_page(command, notes, library_version())};
  if (option != "--completion") return std::nullopt;
  if (!asks_for_completion(argc, argv))
    return CommandEnd{"--completion needs the name of a shell, which is bash", kWrongCommandLine};
  return CommandEnd{bash_completion(command, is_program)};
}

bool asks_for_completion(int argc, const char* const* argv) noexcept {
  return argc == 3 && std::string_view(argv[1]) == "--completion" && std::string_view(argv[2]) == "bash";
}

std::optional<CommandEnd> parse_command_line(CLI::App& app, int argc, const char* const* argv,
                                             const ManualNotes& notes) {
  if (auto described = describe_command(describe(app), argc, argv, notes, false)) return described;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return CommandEnd{help_text(last_command(app), help_width())};
  } catch (const CLI::CallForVersion& version) {
    return CommandEnd{std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    return CommandEnd{refusal_of(app, error), kWrongCommandLine};
  } catch (const OptionError& error) {
    return CommandEnd{error.what(), kWrongCommandLine};
  }
  return std::nullopt;
}

int print_end(std::string_view command, const CommandEnd& end) {
  if (end.exit_code == 0) {
    fmt::print("{}", end.text);
  } else {
    fmt::print(stderr, "{}: {} (`{} --help` shows the options)\n", command, end.text, command);
  }
  return end.exit_code;
}

}  // namespace weft::tools
