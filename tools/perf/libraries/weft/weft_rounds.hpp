// Rounds of weft, run by a rank of a job, or by a process that starts its ranks itself.
#pragma once

#include "perf/measure/task.hpp"
#include "perf/workloads/workload.hpp"

namespace weft::tools::perf {

// Rate of active messages of one thread, by endpoint and completion object.
int run_weft_rate(const Task& task);
int run_weft_latency(const Task& task);
int run_weft_verify(const Task& task);
/// A workload that runs over any library.
int run_weft_transport(const Task& task, Workload workload);
/// Two threads of one process that send to themselves. `shared`: over one endpoint; the figure is then their
/// total over the better rate alone, otherwise the smaller ratio of together to alone.
int run_solo(const Task& task, bool shared);
/// Operations per second on one resource of weft by several threads.
int run_resource(const Task& task, Workload workload);
/// Messages per second of the same pairs of threads, as threads of two ranks or as ranks of their own. Starts
/// its ranks itself.
int run_modes(const Task& task);
/// Nanoseconds of an operation that is enqueued on a stream of an accelerator. Both ranks are in this
/// process.
int run_enqueue(const Task& task);
/// The cost of waiting, or the time until a wait ends.
int run_waiting(const Task& task, Workload workload);

}  // namespace weft::tools::perf
