// Endpoints of one thread each.
#include <weft/endpoint.hpp>

#include <utility>

#include "perf/libraries/weft/run_library.hpp"
#include "perf/libraries/weft/weft_runs.hpp"
#include "perf/libraries/weft/weft_transport.hpp"

namespace weft::tools::perf {

Outcome run_serial_endpoints(const Task& task, Workload workload, Runtime runtime) {
  return run_library<WeftLibrary<WeftTransport<SerialEndpoint>, SerialEndpoint>>(task, workload,
                                                                                 std::move(runtime));
}

Outcome run_serial_active_messages(const Task& task, Workload workload, Runtime runtime) {
  return run_library<WeftLibrary<WeftAmTransport<SerialEndpoint>, SerialEndpoint>>(task, workload,
                                                                                   std::move(runtime));
}

}  // namespace weft::tools::perf
