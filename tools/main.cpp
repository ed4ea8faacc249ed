#include <weft/error.hpp>
#include <weft/version.hpp>

#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/attributes.hpp"
#include "base/job_variables.hpp"
#include "command.hpp"
#include "common/commands/command_line.hpp"
#include "common/commands/completion.hpp"
#include "common/commands/nearest_name.hpp"
#include "common/commands/run_command.hpp"
#include "common/files/standard_output.hpp"

namespace weft::tools {
namespace {

struct Command {
  std::string_view name;
  CommandFunction function;  // null: a program of its own beside this one, weft-NAME
  std::string_view help;
};

constexpr Command kCommands[] = {
    {"run", command_run, "start the ranks of a job, on this host or on others"},
    {"info", command_info, "show version, build, host, networks and attributes"},
    {"perf", nullptr, "measure message rate and latency of this machine"},
    {"study", nullptr, "reproduce experiments about task runtimes and message matching"},
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

/// The path of a command that is a program of its own.
std::string path_of_program(std::string_view command) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error("/proc/self/exe cannot be read: is /proc mounted?");
  return own.parent_path() / fmt::format("weft-{}", command);
}

std::string reason_of_missing(std::string_view command, const std::string& path, int error) {
  return fmt::format(
      "`weft {}` is a program of its own, {}, which cannot be started: {}{}", command, path,
      std::generic_category().message(error),
      error == ENOENT ? "; build it (`./dev build` builds everything), or install it beside weft" : "");
}

/// Goes on as the program of this command. Returns by throwing only.
[[noreturn]] void become_program(std::string_view command, char** arguments) {
  const std::string path = path_of_program(command);
  ::execv(path.c_str(), arguments);
  throw Error(reason_of_missing(command, path, errno));
}

/// Prints a command's part of the completion of a shell; returns its exit code.
int output_of_program(const std::string& command, char* shell) {
  if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "standard output");
  const std::string path = path_of_program(command);
  std::string name = "weft-" + command;
  std::string option = "--completion";
  char* arguments[] = {name.data(), option.data(), shell, nullptr};
  pid_t child = -1;
  if (const int error = ::posix_spawn(&child, path.c_str(), nullptr, nullptr, arguments, environ); error != 0)
    throw Error(reason_of_missing(command, path, error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  if (WIFSIGNALED(status)) throw Error(fmt::format("{} was ended by signal {}", path, WTERMSIG(status)));
  return WEXITSTATUS(status);
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

/// `--manual` and `--completion bash`. The script for the shell has the parts of all commands, which know
/// their options.
std::optional<int> describe_program(int argc, char** argv) {
  if (!asks_for_completion(argc, argv)) {
    const auto end = describe_command(description(), argc, argv, manual_notes(), true);
    return end ? std::optional(print_end("weft", *end)) : std::nullopt;
  }
  for (const Command& command : kCommands) {
    std::string name{command.name};
    char* arguments[] = {name.data(), argv[1], argv[2], nullptr};
    const int exit_code =
        command.function != nullptr ? command.function(3, arguments) : output_of_program(name, argv[2]);
    if (exit_code != 0) return exit_code;
  }
  fmt::print("{}", bash_completion(description(), true));
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
    if (command.function == nullptr) become_program(name, argv + 1);
    return run_command(fmt::format("weft {}", name), command.function, argc - 1, argv + 1);
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
