#pragma once

#include <vector>

#include "perf/libraries/catalogue.hpp"
#include "perf/measure/perf_options.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {

/// Starts this program as the worker of a task, under the launcher when it needs ranks, and returns the
/// outcomes of its ranks. `hosts`: for a task whose ranks are apart. Throws weft::Error when they failed or
/// took far too long.
std::vector<Outcome> start_worker(const Measurement& measurement, const Task& task, const Hosts& hosts);

/// `--shell`, for the launchers of other libraries: has a shell read words that have travelled as hexadecimal
/// digits. Returns the exit code when there is no shell.
int run_shell(const std::string& digits);

}  // namespace weft::tools::perf
