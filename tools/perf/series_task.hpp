#pragma once

#include <vector>

#include "perf/measure/task.hpp"
#include "perf/report/results.hpp"

namespace weft::tools::perf {

/// What ranks get for a round of the series. `processors`: for two threads.
Task task_of(const Series& series, const Options& options, const std::vector<int>& processors);

/// Cores of this machine.
int count_cores();

}  // namespace weft::tools::perf
