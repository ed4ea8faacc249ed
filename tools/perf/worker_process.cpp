#include "perf/worker_process.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include "perf/libraries/plugin_host.hpp"
#include "perf/measure/child_process.hpp"
#include "perf/measure/own_path.hpp"

namespace weft::tools::perf {

std::vector<Outcome> start_worker(const Measurement& measurement, const Task& task) {
  const std::string self = own_path();
  const Transport& over = *measurement.over;
  const std::string ranks = std::to_string(task.ranks);
  Command command;
  command.environment = over.environment;
  switch (over.launch) {
    case Launch::ranks:
    case Launch::one_rank:
      command.arguments = {self, "run", "-n", over.launch == Launch::one_rank ? "1" : ranks, "--"};
      break;
    case Launch::mpiexec:
      command.arguments = {find_launcher(std::string(over.plugin), std::string(over.launcher)), "-n", ranks};
      break;
    default:
      break;
  }
  command.arguments.insert(command.arguments.end(), {self, "perf", "--worker", text_of(task)});
  const Ended ended = run_to_end(command, 60 + 20 * task.seconds);
  if (!ended.well) throw Error(fmt::format("{}: {}", measurement.name, ended.reason()));
  std::vector<Outcome> outcomes = parse_outcomes(ended.output);
  if (outcomes.empty()) throw Error(fmt::format("{}: the round ended without a result", measurement.name));
  return outcomes;
}

}  // namespace weft::tools::perf
