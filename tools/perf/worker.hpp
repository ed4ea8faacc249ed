#pragma once

#include "perf/measure/task.hpp"

namespace weft::tools::perf {

/// Does a task, in a process started as `weft perf --worker`.
int run_worker(const Task& task);

}  // namespace weft::tools::perf
