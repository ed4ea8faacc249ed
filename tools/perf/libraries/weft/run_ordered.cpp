// Sends and receives of ordered engines.
#include <weft/endpoint.hpp>

#include <utility>

#include "perf/libraries/weft/run_library.hpp"
#include "perf/libraries/weft/weft_runs.hpp"
#include "perf/libraries/weft/weft_transport.hpp"

namespace weft::tools::perf {

Outcome run_ordered_endpoints(const Task& task, Workload workload, Runtime runtime) {
  if (task.progress_thread)
    return run_library<WeftLibrary<WeftTransport<Endpoint, true, true>, Endpoint>>(task, workload,
                                                                                   std::move(runtime));
  return run_library<WeftLibrary<WeftTransport<Endpoint, false, true>, Endpoint>>(task, workload,
                                                                                  std::move(runtime));
}

Outcome run_one_endpoint(const Task& task, Workload workload, Runtime runtime) {
  Task shared = task;
  shared.shared = true;
  return run_library<WeftLibrary<WeftTransport<Endpoint, false, true>, Endpoint>>(shared, workload,
                                                                                  std::move(runtime));
}

}  // namespace weft::tools::perf
