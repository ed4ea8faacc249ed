// weft as a library that is measured, in each of its variants. A file for a few of them: each compiles every
// workload.
#pragma once

#include <weft/runtime.hpp>

#include "perf/measure/task.hpp"
#include "perf/workloads/workload.hpp"

namespace weft::tools::perf {

// Each measures the task's workload with the runtime's job, and returns what this rank has found. What their
// names say is what messages go through.
Outcome run_endpoints(const Task& task, Workload workload, Runtime runtime);
Outcome run_ordered_endpoints(const Task& task, Workload workload, Runtime runtime);
Outcome run_one_endpoint(const Task& task, Workload workload, Runtime runtime);
Outcome run_serial_endpoints(const Task& task, Workload workload, Runtime runtime);
Outcome run_streams(const Task& task, Workload workload, Runtime runtime);
Outcome run_devices_by_hand(const Task& task, Workload workload, Runtime runtime);
Outcome run_active_messages(const Task& task, Workload workload, Runtime runtime);
Outcome run_serial_active_messages(const Task& task, Workload workload, Runtime runtime);
Outcome run_active_messages_of_ranks(const Task& task, Workload workload, Runtime runtime);
Outcome run_polling(const Task& task, Workload workload, Runtime runtime);

}  // namespace weft::tools::perf
