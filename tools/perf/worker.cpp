#include "perf/worker.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include "perf/libraries/catalogue.hpp"
#include "perf/libraries/plugin_host.hpp"
#include "perf/libraries/weft/weft_rounds.hpp"
#include "perf/limits/limits.hpp"

namespace weft::tools::perf {

int run_worker(const Task& task) {
  const Measurement* measurement = find_measurement(task.measurement);
  if (measurement == nullptr || measurement->is_ucx_perftest()) {
    throw Error(fmt::format("\"{}\" is not a measurement that a worker makes", task.measurement));
  }
  const Transport& over = *measurement->over;
  if (over.name == "bare-ring-buffer") return run_ring(task);
  if (over.name == "bare-cache-line") return run_line(task);
  if (over.name == "bare-futex") return run_futex(task);
  if (over.name == "bare-memory") return run_raw(task, measurement->workload);
  if (!over.plugin.empty()) return run_plugin(task, std::string(over.plugin), over.launch == Launch::mpiexec);
  switch (measurement->workload) {
    case Workload::rate:
      return task.verify ? run_weft_verify(task) : run_weft_rate(task);
    case Workload::latency:
      return run_weft_latency(task);
    case Workload::solo:
      return run_solo(task, false);
    case Workload::solo_shared:
      return run_solo(task, true);
    case Workload::idle:
    case Workload::wake_up:
      return run_waiting(task, measurement->workload);
    case Workload::modes:
      return run_modes(task);
    case Workload::enqueue:
      return run_enqueue(task);
    case Workload::resource_queue:
    case Workload::resource_matching:
    case Workload::resource_packet:
      return run_resource(task, measurement->workload);
    default:
      return run_weft_transport(task, measurement->workload);
  }
}

}  // namespace weft::tools::perf
