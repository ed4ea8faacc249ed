#include "perf/round.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <unistd.h>

#include <climits>

#include "perf/child.hpp"

namespace weft::tools::perf {
namespace {

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0)
    throw Error("/proc/self/exe cannot be read, so the ranks cannot be started: is /proc mounted?");
  return {path, static_cast<std::size_t>(length)};
}

}  // namespace

std::vector<Outcome> start_worker(const Measurement& measurement, const Task& task) {
  const std::string self = own_path();
  Command command;
  if (!measurement.is_bare()) {
    command.arguments = {self, "run", "-n", measurement.workload == Workload::solo ? "1" : "2", "--"};
  }
  command.arguments.insert(command.arguments.end(), {self, "perf", "--worker", text_of(task)});
  const Ended ended = run_to_end(command, 60 + 20 * task.seconds);
  if (!ended.well) throw Error(fmt::format("{}: {}", measurement.name, ended.reason()));
  std::vector<Outcome> outcomes = parse_outcomes(ended.output);
  if (outcomes.empty()) throw Error(fmt::format("{}: the round ended without a result", measurement.name));
  return outcomes;
}

}  // namespace weft::tools::perf
