// Limits of the machine. Each function starts its second process itself.
#pragma once

#include "perf/measure/task.hpp"
#include "perf/workloads/workload.hpp"

namespace weft::tools::perf {

/// Messages per second through a ring of slots.
int run_ring(const Task& task);
/// One cache line back and forth.
int run_line(const Task& task);
/// The time until a thread runs that another process wakes.
int run_futex(const Task& task);
/// Puts, gets and atomics as accesses to memory that both processes map.
int run_raw(const Task& task, Workload workload);

}  // namespace weft::tools::perf
