#include "perf/libraries/weft/weft_transport.hpp"

#include <weft/sim.hpp>

#include <exception>
#include <thread>

#include "common/pinning.hpp"
#include "perf/libraries/weft/weft_am_ranks.hpp"
#include "perf/libraries/weft/weft_polling.hpp"
#include "perf/libraries/weft/weft_rounds.hpp"
#include "perf/libraries/weft/weft_streams.hpp"
#include "perf/workloads/rank_threads.hpp"

namespace weft::tools::perf {
namespace {

template <class Library>
Outcome run(const Task& task, Workload workload, Runtime runtime) {
  Library library(task, std::move(runtime));
  return run_threads(library, task, workload);
}

Outcome run_ordered(const Task& task, Workload workload, Runtime runtime) {
  if (task.progress_thread)
    return run<WeftLibrary<WeftTransport<Endpoint, true, true>, Endpoint>>(task, workload,
                                                                           std::move(runtime));
  return run<WeftLibrary<WeftTransport<Endpoint, false, true>, Endpoint>>(task, workload, std::move(runtime));
}

Outcome run_default(const Task& task, Workload workload, Runtime runtime) {
  if (task.progress_thread)
    return run<WeftLibrary<WeftTransport<Endpoint, true>, Endpoint>>(task, workload, std::move(runtime));
  return run<WeftLibrary<WeftTransport<Endpoint>, Endpoint>>(task, workload, std::move(runtime));
}

/// Both ranks in this process, each in a thread.
void run_simulated(const Task& task, Workload workload) {
  sim::Simulation simulation;
  Outcome outcomes[2];
  std::exception_ptr failures[2];
  const auto run_rank = [&](int rank) {
    try {
      pin_thread(task.processors, static_cast<std::size_t>(rank));
      outcomes[rank] = run_default(task, workload, Runtime(simulation, rank));
    } catch (...) {
      failures[rank] = std::current_exception();
    }
  };
  {
    std::jthread other(run_rank, 1);
    run_rank(0);
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  for (const Outcome& outcome : outcomes) print(outcome);
}

}  // namespace

int run_weft_transport(const Task& task, Workload workload) {
  if (task.transport() == "weft-sim") {
    run_simulated(task, workload);
    return 0;
  }
  pin_thread(task.processors, static_cast<std::size_t>(rank_from_environment()));
  const bool is_am = task.transport() == "weft-am" || task.transport() == "weft-am-tcp";
  if (is_polling(workload)) {
    print(run<WeftLibrary<WeftPolling, Endpoint>>(task, workload, Runtime()));
  } else if (task.transport() == "weft-serial") {
    print(run<WeftLibrary<WeftTransport<SerialEndpoint>, SerialEndpoint>>(task, workload, Runtime()));
  } else if (task.transport() == "weft-ordered") {
    print(run_ordered(task, workload, Runtime()));
  } else if (task.transport() == "weft-streams") {
    print(run<SerialThreadsLibrary<StreamOfThread>>(task, workload, Runtime()));
  } else if (task.transport() == "weft-by-hand") {
    print(run<SerialThreadsLibrary<DeviceOfThread>>(task, workload, Runtime()));
  } else if (task.transport() == "weft-one-endpoint") {
    Task shared = task;
    shared.shared = true;
    print(run<WeftLibrary<WeftTransport<Endpoint, false, true>, Endpoint>>(shared, workload, Runtime()));
  } else if (is_am && takes_ranks(workload)) {
    print(run<WeftLibrary<WeftAmRanks, Endpoint>>(task, workload, Runtime()));
  } else if (is_am || is_large_stream(workload)) {
    print(task.progress_thread
              ? run<WeftLibrary<WeftAmTransport<Endpoint, true>, Endpoint>>(task, workload, Runtime())
              : run<WeftLibrary<WeftAmTransport<Endpoint>, Endpoint>>(task, workload, Runtime()));
  } else if (task.transport() == "weft-am-serial") {
    print(run<WeftLibrary<WeftAmTransport<SerialEndpoint>, SerialEndpoint>>(task, workload, Runtime()));
  } else {
    print(run_default(task, workload, Runtime()));
  }
  return 0;
}

}  // namespace weft::tools::perf
