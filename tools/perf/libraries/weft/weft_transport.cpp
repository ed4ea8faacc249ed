#include <weft/runtime.hpp>
#include <weft/testing/simulation.hpp>

#include <exception>
#include <string_view>
#include <thread>

#include "common/pinning.hpp"
#include "perf/libraries/weft/weft_rounds.hpp"
#include "perf/libraries/weft/weft_runs.hpp"
#include "perf/workloads/workload.hpp"

namespace weft::tools::perf {
namespace {

/// Both ranks in this process, each in a thread.
void run_simulated(const Task& task, Workload workload) {
  sim::Simulation simulation;
  Outcome outcomes[2];
  std::exception_ptr failures[2];
  const auto run_rank = [&](int rank) {
    try {
      pin_thread(task.processors, static_cast<std::size_t>(rank));
      outcomes[rank] = run_endpoints(task, workload, Runtime(simulation, rank));
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

using Run = Outcome (*)(const Task& task, Workload workload, Runtime runtime);

/// The variant that the task asks for.
Run run_of(const Task& task, Workload workload) {
  const std::string_view transport = task.transport();
  const bool is_am = transport == "weft-am" || transport == "weft-am-tcp";
  if (is_polling(workload)) return run_polling;
  if (transport == "weft-serial") return run_serial_endpoints;
  if (transport == "weft-ordered") return run_ordered_endpoints;
  if (transport == "weft-streams") return run_streams;
  if (transport == "weft-by-hand") return run_devices_by_hand;
  if (transport == "weft-one-endpoint") return run_one_endpoint;
  if (is_am && takes_ranks(workload)) return run_active_messages_of_ranks;
  if (is_am || is_large_stream(workload)) return run_active_messages;
  if (transport == "weft-am-serial") return run_serial_active_messages;
  return run_endpoints;
}

}  // namespace

int run_weft_transport(const Task& task, Workload workload) {
  if (task.transport() == "weft-sim") {
    run_simulated(task, workload);
    return 0;
  }
  pin_thread(task.processors, static_cast<std::size_t>(rank_from_environment()));
  print(run_of(task, workload)(task, workload, Runtime()));
  return 0;
}

}  // namespace weft::tools::perf
