// Rounds of ranks with one or several threads.
//
// A library offers open(thread), which makes the transport of one thread
// (std::unique_ptr<Library::Transport>); all are made and destroyed by one thread, in the same order on both
// ranks.
#pragma once

#include <barrier>
#include <exception>
#include <memory>
#include <thread>

#include "common/pinning.hpp"
#include "perf/workloads/run_over.hpp"

namespace weft::tools::perf {

/// Joins the outcomes of the threads of a rank: rates are added up, with each of them in parts, and
/// percentiles are taken over the round trips of all.
inline Outcome joined(const std::vector<Outcome>& threads) {
  Outcome sum{.role = threads.front().role, .value = 0};
  std::vector<float> round_trips;
  for (const Outcome& each : threads) {
    sum.value += each.value;
    sum.parts.push_back(each.value);
    sum.core_share = std::min(sum.core_share, each.core_share);
    sum.messages += each.messages;
    sum.lost += each.lost;
    sum.duplicated += each.duplicated;
    sum.torn += each.torn;
    round_trips.insert(round_trips.end(), each.round_trips_ns.begin(), each.round_trips_ns.end());
  }
  sum.percentiles_ns = percentiles_of(std::move(round_trips));
  return sum;
}

template <class Library>
Outcome run_threads(Library& library, const Task& task, Workload workload) {
  using Transport = typename Library::Transport;
  if (task.threads == 1) {
    const std::unique_ptr<Transport> transport = library.open(0);
    Outcome outcome = run_over(*transport, task, workload);
    if (is_pairs(workload)) return joined({std::move(outcome)});
    return outcome;
  }
  const auto count = static_cast<std::size_t>(task.threads);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int thread = 0; thread < task.threads; ++thread) transports.push_back(library.open(thread));
  std::vector<Outcome> outcomes(count);
  std::vector<std::exception_ptr> failures(count);
  std::barrier<> start{task.threads};
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < count; ++thread) {
      threads.emplace_back([&, thread] {
        try {
          // With enough cores every thread has one; otherwise the threads of a rank share its core.
          const std::size_t processor = static_cast<std::size_t>(transports[thread]->rank()) * count + thread;
          if (task.processors.size() >= 2 * count) pin_thread(task.processors, processor);
          start.arrive_and_wait();
          outcomes[thread] = run_over(*transports[thread], task, workload);
        } catch (...) {
          failures[thread] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  while (!transports.empty()) transports.pop_back();
  return joined(outcomes);
}

}  // namespace weft::tools::perf
