#include "command.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <string_view>

#include "run/front.hpp"
#include "run/hosts/agent.hpp"
#include "run/job/options.hpp"
#include "run/ranks/environment.hpp"
#include "run/ranks/program.hpp"

namespace weft::tools {

int command_run(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--agent") return run::run_agent();
  run::Parsed parsed = run::parse_options(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  try {
    run::check_variables(parsed.options.environment);
  } catch (const Error& error) {
    fmt::print(stderr, "weft run: {}\n", error.what());
    return kUsageError;
  }
  // Other hosts have files of their own: each finds the program, or tells that it has none.
  if (!parsed.options.hosts.empty()) return run::run_job(std::move(parsed.options), {});
  const run::FoundProgram program = run::find_program(parsed.options.program, run::own_folders());
  if (!program.error.empty()) {
    fmt::print(stderr, "weft run: {}\n", program.error);
    return program.exit_code;
  }
  return run::run_job(std::move(parsed.options), program.path);
}

}  // namespace weft::tools
