// How a variant of weft is measured.
#pragma once

#include <weft/runtime.hpp>

#include <utility>

#include "perf/workloads/rank_threads.hpp"

namespace weft::tools::perf {

template <class Library>
Outcome run_library(const Task& task, Workload workload, Runtime runtime) {
  Library library(task, std::move(runtime));
  return run_threads(library, task, workload);
}

}  // namespace weft::tools::perf
