// Active messages of endpoints that threads share.
#include <weft/endpoint.hpp>

#include <utility>

#include "perf/libraries/weft/run_library.hpp"
#include "perf/libraries/weft/weft_am_ranks.hpp"
#include "perf/libraries/weft/weft_runs.hpp"
#include "perf/libraries/weft/weft_transport.hpp"

namespace weft::tools::perf {

Outcome run_active_messages(const Task& task, Workload workload, Runtime runtime) {
  if (task.progress_thread)
    return run_library<WeftLibrary<WeftAmTransport<Endpoint, true>, Endpoint>>(task, workload,
                                                                               std::move(runtime));
  return run_library<WeftLibrary<WeftAmTransport<Endpoint>, Endpoint>>(task, workload, std::move(runtime));
}

Outcome run_active_messages_of_ranks(const Task& task, Workload workload, Runtime runtime) {
  return run_library<WeftLibrary<WeftAmRanks, Endpoint>>(task, workload, std::move(runtime));
}

}  // namespace weft::tools::perf
