// The body of a plugin: makes the transport and runs the task's workload over it.
#pragma once

#include <exception>

#include "perf/libraries/plugin_call.hpp"
#include "perf/workloads/rank_threads.hpp"

namespace weft::tools::perf {

/// `Library` is constructed from the call; see team.hpp. Its description() tells its version and how it was
/// set up.
template <class Library>
void answer(PluginCall& call) noexcept {
  try {
    const Task& task = *call.task;
    const WorkloadInfo* workload = find_workload(task.measurement.substr(0, task.measurement.find('/')));
    if (workload == nullptr) throw Error(task.measurement + " is no workload");
    Library library(call);
    call.peer_library = library.description();
    call.outcomes.push_back(run_threads(library, task, workload->workload));
  } catch (const std::exception& error) {
    call.error = error.what();
  }
}

}  // namespace weft::tools::perf

#define WEFT_PERF_PLUGIN(Library)                                                                            \
  extern "C" [[gnu::visibility("default")]] void weft_perf_plugin_1(::weft::tools::perf::PluginCall& call) { \
    ::weft::tools::perf::answer<Library>(call);                                                              \
  }
