// Workers of measurements that concern weft and this host alone, or that start their ranks themselves.
#pragma once

#include "perf/task.hpp"

namespace weft::tools::perf {

/// Two threads of one process that send to themselves. `shared`: over one endpoint; the figure is then their
/// total over the better rate alone, otherwise the smaller ratio of together to alone.
int run_solo(const Task& task, bool shared);
/// Operations per second on one resource of weft by several threads.
int run_resource(const Task& task, Workload workload);
/// Messages per second of the same pairs of threads as threads of two ranks or as ranks of their own. Starts
/// its ranks itself.
int run_modes(const Task& task);
/// How soon a thread runs that another process wakes, without weft.
int run_futex(const Task& task);
/// What waiting costs and how soon it ends.
int run_waiting(const Task& task, Workload workload);

}  // namespace weft::tools::perf
