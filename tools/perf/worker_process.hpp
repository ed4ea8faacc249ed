#pragma once

#include <vector>

#include "perf/libraries/catalogue.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {

/// Starts this program as the worker of a task, under the launcher when it needs ranks, and returns the
/// outcomes of its ranks. Throws weft::Error when they failed or took far too long.
std::vector<Outcome> start_worker(const Measurement& measurement, const Task& task);

}  // namespace weft::tools::perf
