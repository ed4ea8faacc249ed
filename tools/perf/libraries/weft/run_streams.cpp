// Streams, and what they consist of by hand.
#include <weft/endpoint.hpp>

#include <utility>

#include "perf/libraries/weft/run_library.hpp"
#include "perf/libraries/weft/weft_polling.hpp"
#include "perf/libraries/weft/weft_runs.hpp"
#include "perf/libraries/weft/weft_streams.hpp"
#include "perf/libraries/weft/weft_transport.hpp"

namespace weft::tools::perf {

Outcome run_streams(const Task& task, Workload workload, Runtime runtime) {
  return run_library<SerialThreadsLibrary<StreamOfThread>>(task, workload, std::move(runtime));
}

Outcome run_devices_by_hand(const Task& task, Workload workload, Runtime runtime) {
  return run_library<SerialThreadsLibrary<DeviceOfThread>>(task, workload, std::move(runtime));
}

Outcome run_polling(const Task& task, Workload workload, Runtime runtime) {
  return run_library<WeftLibrary<WeftPolling, Endpoint>>(task, workload, std::move(runtime));
}

}  // namespace weft::tools::perf
