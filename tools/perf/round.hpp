#pragma once

#include <vector>

#include "perf/catalogue.hpp"
#include "perf/task.hpp"

namespace weft::tools::perf {

/// Starts this program as the worker of a task, under the launcher where it needs ranks, and returns what its
/// ranks told. Throws weft::Error when they failed or took far too long.
std::vector<Outcome> start_worker(const Measurement& measurement, const Task& task);

}  // namespace weft::tools::perf
