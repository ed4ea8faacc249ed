#include <weft/error.hpp>

#include <fmt/core.h>

#include "perf/catalogue.hpp"
#include "perf/task.hpp"

namespace weft::tools::perf {

int run_worker(const Task& task) {
  const Measurement* measurement = find_measurement(task.measurement);
  if (measurement == nullptr || measurement->is_ucx()) {
    throw Error(fmt::format("\"{}\" is not a measurement that a worker makes", task.measurement));
  }
  if (measurement->transport() == "ring") return run_ring(task);
  if (measurement->transport() == "line") return run_line(task);
  switch (measurement->workload) {
    case Workload::rate:
      return task.verify ? run_weft_verify(task) : run_weft_rate(task);
    case Workload::latency:
      return run_weft_latency(task);
    case Workload::solo:
      return run_solo(task);
  }
  return 1;
}

}  // namespace weft::tools::perf
