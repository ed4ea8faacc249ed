#include "run/hosts/agent.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/uninterrupted.hpp"
#include "run/hosts/agent_loop.hpp"
#include "run/hosts/start_agent.hpp"
#include "run/ranks/processes.hpp"

namespace weft::tools::run {

namespace {

std::string read_line() {
  std::string line;
  char next = 0;
  const auto read_next = [&next] { return ::read(STDIN_FILENO, &next, 1); };
  while (base::uninterrupted(read_next) == 1 && next != '\n') line += next;
  return line;
}

}  // namespace

int run_agent() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "weft-agent");
  std::string host = "?";
  // The launcher tells by this how far it has come.
  const std::string begun = std::string(kAgentBegins) + "\n";
  static_cast<void>(!::write(STDOUT_FILENO, begun.data(), begun.size()));
  try {
    Description job = parse_description(read_line());
    host = job.host;
    return AgentLoop(std::move(job)).run();
  } catch (const std::exception& error) {
    kill_descendants();
    fmt::print(stderr, "weft run: host {}: {}\n", host, error.what());
    return 1;
  }
}

}  // namespace weft::tools::run
