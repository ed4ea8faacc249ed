#include <weft/version.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "base/parse.hpp"
#include "command.hpp"

namespace weft::tools {
namespace {

struct Command {
  std::string_view name;
  int (*function)(int argc, char** argv);
  std::string_view help;
};

constexpr Command kCommands[] = {
    {"run", command_run, "start the ranks of a job on this host"},
    {"info", command_info, "show version, build, host, networks and attributes"},
    {"perf", command_perf, "measure message rate and latency of this machine"},
    {"study", command_study, "reproduce experiments of the papers about task runtimes"},
};

void print_help() {
  fmt::print("usage: weft COMMAND [OPTIONS]\n\nCommands:\n");
  for (const Command& command : kCommands) fmt::print("  {:8} {}\n", command.name, command.help);
  fmt::print("\n`weft COMMAND --help` shows the options of a command; `weft --version` shows the version.\n");
}

const Command& nearest(std::string_view name) {
  const Command* best = &kCommands[0];
  for (const Command& command : kCommands) {
    if (base::edit_distance(name, command.name) < base::edit_distance(name, best->name)) best = &command;
  }
  return *best;
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
  if (name == "--version") {
    fmt::print("weft {}\n", library_version());
    return 0;
  }
  for (const Command& command : kCommands) {
    if (command.name != name) continue;
    try {
      return command.function(argc - 1, argv + 1);
    } catch (const std::exception& error) {
      fmt::print(stderr, "weft {}: {}\n", command.name, error.what());
      return 1;
    }
  }
  fmt::print(stderr, "weft: there is no command \"{}\": did you mean \"{}\"? (`weft --help` lists all)\n",
             name, nearest(name).name);
  return kUsageError;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) { return weft::tools::dispatch(argc, argv); }
