#include "common/commands/run_command.hpp"

#include <fmt/core.h>
#include <signal.h>

#include <cstdio>
#include <exception>
#include <vector>

#include "common/commands/command_line.hpp"
#include "common/commands/option_values.hpp"
#include "common/files/standard_output.hpp"

namespace weft::tools {

int run_command(const std::string& program, CommandFunction function, int argc, char** argv) {
  try {
    return end_of_output(program, function(argc, argv));
  } catch (const OptionError& error) {
    return print_end(program, {error.what(), 2});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program, reason_of(error));
    return 1;
  }
}

int run_as_program(std::string_view command, CommandFunction function, int argc, char** argv) try {
  // Whoever has started this program may ignore it; then no end of a child would be told.
  ::signal(SIGCHLD, SIG_DFL);
  std::string name(command);
  std::vector<char*> arguments(argv, argv + argc);
  if (arguments.empty()) arguments.push_back(nullptr);
  arguments.front() = name.data();
  arguments.push_back(nullptr);
  return run_command(fmt::format("weft {}", command), function, static_cast<int>(arguments.size()) - 1,
                     arguments.data());
} catch (const std::exception& error) {
  std::fprintf(stderr, "weft: %s\n", reason_of(error).c_str());
  return 1;
}

}  // namespace weft::tools
