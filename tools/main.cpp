#include <weft/version.hpp>

#include <fmt/core.h>
#include <signal.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>

#include "base/attributes.hpp"
#include "base/job_variables.hpp"
#include "command.hpp"
#include "common/commands/command_line.hpp"
#include "common/commands/completion.hpp"
#include "common/commands/nearest_name.hpp"
#include "common/commands/option_values.hpp"
#include "common/files/standard_output.hpp"

namespace weft::tools {
namespace {

struct Command {
  std::string_view name;
  int (*function)(int argc, char** argv);
  std::string_view help;
};

constexpr Command kCommands[] = {
    {"run", command_run, "start the ranks of a job, on this host or on others"},
    {"info", command_info, "show version, build, host, networks and attributes"},
    {"perf", command_perf, "measure message rate and latency of this machine"},
    {"study", command_study, "reproduce experiments about task runtimes and message matching"},
};

void print_help() {
  fmt::print("usage: weft COMMAND [OPTIONS]\n\nCommands:\n");
  for (const Command& command : kCommands) fmt::print("  {:8} {}\n", command.name, command.help);
  fmt::print(
      "\n`weft COMMAND --help` shows the options of a command.\n`weft --version` shows the version.\n");
}

CommandDescription description() {
  CommandDescription weft{.name = "weft",
                          .summary = "Starts, explains and measures programs that communicate through weft.",
                          .options = {{.names = {"-h", "--help"}, .help = "Print the commands and exit"},
                                      {.names = {"-V", "--version"}, .help = "Print the version and exit"}}};
  for (const Command& command : kCommands) {
    CommandDescription below;
    below.name = fmt::format("weft {}", command.name);
    below.summary = command.help;
    weft.commands.push_back(std::move(below));
  }
  return weft;
}

/// What the manual page says beside the commands.
ManualNotes manual_notes() {
  ManualNotes notes{.short_summary = "communication between many threads of many processes"};
  for (const Command& command : kCommands) notes.see_also.push_back(fmt::format("weft-{}(1)", command.name));
  notes.see_also.emplace_back("weft-kmer(1)");
  for (const base::AttributeRow& row : base::kAttributeTable)
    notes.environment.emplace_back(
        base::environment_name(row),
        fmt::format("{} (default {}; {})", row.help, row.default_value, base::range_text(row)));
  for (const base::JobVariable& variable : base::kJobVariables)
    if (variable.is_promised) notes.environment.emplace_back(variable.name, variable.help);
  for (const base::JobVariable& variable : base::kUserVariables)
    notes.environment.emplace_back(variable.name, variable.help);
  return notes;
}

/// `--manual` and `--completion SHELL`. A script for a shell has the parts of all commands, which know their
/// options.
std::optional<int> describe_program(int argc, char** argv) {
  const bool is_script = argc == 3 && std::string_view(argv[1]) == "--completion" && shell_of(argv[2]);
  if (!is_script) {
    const auto end = describe_command(description(), argc, argv, manual_notes(), true);
    return end ? std::optional(print_end("weft", *end)) : std::nullopt;
  }
  const Shell shell = *shell_of(argv[2]);
  fmt::print("{}", completion_start(shell, "weft"));
  for (const Command& command : kCommands) {
    std::string name{command.name};
    char* arguments[] = {name.data(), argv[1], argv[2], nullptr};
    if (const int exit_code = command.function(3, arguments); exit_code != 0) return exit_code;
  }
  fmt::print("{}", completion_part(shell, description(), true));
  return 0;
}

void print_unknown_command(std::string_view name) {
  std::vector<std::string> names{"help", "version", "--help", "--version"};
  for (const Command& command : kCommands) names.emplace_back(command.name);
  const std::string nearest = nearest_name(name, names);
  const std::string hint = nearest.empty() ? "" : fmt::format(": did you mean \"{}\"?", nearest);
  fmt::print(stderr, "weft: there is no {} \"{}\"{} (`weft --help` lists all)\n",
             name.starts_with('-') ? "option" : "command", name, hint);
}

int dispatch(int argc, char** argv) {
  if (argc < 2) {
    print_help();
    return kUsageError;
  }
  const std::string_view name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") {
    print_help();
    return 0;
  }
  if (name == "-V" || name == "--version" || name == "version") {
    fmt::print("weft {}\n", library_version());
    return 0;
  }
  for (const Command& command : kCommands) {
    if (command.name != name) continue;
    const std::string program = fmt::format("weft {}", command.name);
    try {
      return end_of_output(program, command.function(argc - 1, argv + 1));
    } catch (const OptionError& error) {
      return print_end(program, {error.what(), kUsageError});
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", program, reason_of(error));
      return 1;
    }
  }
  if (const auto exit_code = describe_program(argc, argv)) return *exit_code;
  print_unknown_command(name);
  return kUsageError;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) try {
  // Whoever has started this program may ignore it; then no end of a child would be told.
  if (argc < 2 || std::string_view(argv[1]) != "run") ::signal(SIGCHLD, SIG_DFL);
  return weft::tools::end_of_output("weft", weft::tools::dispatch(argc, argv));
} catch (const std::exception& error) {
  std::fprintf(stderr, "weft: %s\n", weft::tools::reason_of(error).c_str());
  return 1;
}
