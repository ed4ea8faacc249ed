#pragma once

#include <weft/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "perf/workloads/active_messages.hpp"
#include "perf/workloads/allreduce.hpp"
#include "perf/workloads/atomics.hpp"
#include "perf/workloads/idle_and_wake_up.hpp"
#include "perf/workloads/large_active_messages.hpp"
#include "perf/workloads/many_ranks.hpp"
#include "perf/workloads/neighbour_exchange.hpp"
#include "perf/workloads/polling.hpp"
#include "perf/workloads/puts_and_gets.hpp"
#include "perf/workloads/streams_to_one.hpp"
#include "perf/workloads/thread_pairs.hpp"
#include "perf/workloads/unexpected_and_unacknowledged.hpp"
#include "perf/workloads/wildcard_receives.hpp"
#include "perf/workloads/workload_set.hpp"

namespace weft::tools::perf {

/// Capabilities of a transport that workloads need: see transport.hpp.
enum class Capability {
  matching,
  access,
  atomics,
  active_messages,
  ranks,
  sums,
  polling,
  streams,
  wildcards
};

template <class Transport>
constexpr bool has(Capability capability) {
  switch (capability) {
    case Capability::matching:
      return Transport::kHasMatching;
    case Capability::access:
      return Transport::kHasAccess;
    case Capability::atomics:
      return AtomicTransport<Transport>;
    case Capability::active_messages:
      return Transport::kHasActiveMessages;
    case Capability::ranks:
      return RankedTransport<Transport>;
    case Capability::sums:
      return CollectiveTransport<Transport>;
    case Capability::polling:
      return PollingTransport<Transport>;
    case Capability::streams:
      return StreamTransport<Transport>;
    case Capability::wildcards:
      return WildcardTransport<Transport>;
  }
  return false;
}

/// One rank's part in a workload over a transport.
template <class Transport>
using Run = Outcome (*)(const Task& task, Transport& transport);

/// The function of a row, or nullptr when the transport lacks the capability.
template <class Transport, Capability kNeeded, class Function>
constexpr Run<Transport> with(Function function) {
  if constexpr (has<Transport>(kNeeded)) {
    return function;
  } else {
    return nullptr;
  }
}

/// Rows of workloads that differ only in sizes, windows and numbers of threads, with the function that runs
/// them.
template <class Transport>
struct Program {
  WorkloadSet workloads;
  Run<Transport> run;
};

/// One row for each: {workloads, required capability, function}.
template <class T>
constexpr auto all_programs() {
  using enum Workload;
  using C = Capability;
  using Set = WorkloadSet;
  return std::to_array<Program<T>>({
      {Set(matched) | Set(outstanding_100, reused_1m) | Set(threads_1, streams_4),
       with<T, C::matching>([](auto& task, auto& over) { return run_window(task, over); })},
      {streams_to_one,
       with<T, C::streams>([](auto& task, auto& over) { return run_streams_to_one(task, over); })},
      {unexpected, with<T, C::matching>([](auto& task, auto& over) { return run_unexpected(task, over); })},
      {unacknowledged,
       with<T, C::matching>([](auto& task, auto& over) { return run_unacknowledged(task, over); })},
      {matched_any_source, with<T, C::wildcards>([](auto& task, auto& over) {
         return run_wildcards<Wildcard::any_source>(task, over, false);
       })},
      {matched_any_tag, with<T, C::wildcards>([](auto& task, auto& over) {
         return run_wildcards<Wildcard::any_tag>(task, over, false);
       })},
      {unexpected_any_source, with<T, C::wildcards>([](auto& task, auto& over) {
         return run_wildcards<Wildcard::any_source>(task, over, true);
       })},
      {unexpected_any_tag, with<T, C::wildcards>([](auto& task, auto& over) {
         return run_wildcards<Wildcard::any_tag>(task, over, true);
       })},
      {matched_latency,
       with<T, C::matching>([](auto& task, auto& over) { return run_ping_pong(task, over); })},
      {exchange, with<T, C::matching>([](auto& task, auto& over) { return run_exchange(task, over); })},
      {matching, with<T, C::matching>([](auto& task, auto& over) { return run_matching(task, over); })},
      {Set(pairs_1, pairs_shared_4),
       with<T, C::matching>([](auto& task, auto& over) { return run_pair_of_threads(task, over); })},
      {idle, with<T, C::matching>([](auto& task, auto& over) { return run_idle(task, over); })},
      {wake_up, with<T, C::matching>([](auto& task, auto& over) { return run_wake_up(task, over); })},
      {many_to_one, with<T, C::ranks>([](auto& task, auto& over) { return run_many_to_one(task, over); })},
      {all_to_all, with<T, C::ranks>([](auto& task, auto& over) { return run_all_to_all(task, over); })},
      {Set(allreduce, allreduce_1m),
       with<T, C::sums>([](auto& task, auto& over) { return run_allreduce(task, over); })},
      {Set(polling_1, polling_shared_4),
       with<T, C::polling>([](auto& task, auto& over) { return run_polling(task, over); })},
      {Set(put_rate) | Set(put_bandwidth),
       with<T, C::access>([](auto& task, auto& over) { return run_access(task, over, true); })},
      {Set(get_rate) | Set(get_bandwidth),
       with<T, C::access>([](auto& task, auto& over) { return run_access(task, over, false); })},
      {add_rate,
       with<T, C::atomics>([](auto& task, auto& over) { return run_additions(task, over, false); })},
      {fetch_add_rate,
       with<T, C::atomics>([](auto& task, auto& over) { return run_additions(task, over, true); })},
      {Set(rate) | Set(rate_threads_1, rate_shared_8),
       with<T, C::active_messages>([](auto& task, auto& over) { return run_active_messages(task, over); })},
      {latency,
       with<T, C::active_messages>([](auto& task, auto& over) { return run_am_ping_pong(task, over); })},
      {Set(am_64k, am_16m), with<T, C::active_messages>([](auto& task, auto& over) {
         return run_large_active_messages(task, over, false);
       })},
      {Set(am_fresh_64k, am_fresh_16m), with<T, C::active_messages>([](auto& task, auto& over) {
         return run_large_active_messages(task, over, true);
       })},
      // These workloads concern weft alone.
      {Set(solo, resource_packet) | Set(modes, enqueue), nullptr},
  });
}

/// Runs one rank's part of a round of any workload that the transport is capable of.
template <class Transport>
Outcome run_over(Transport& transport, const Task& task, Workload workload) {
  static constexpr auto kPrograms = all_programs<Transport>();
  static_assert(has_one_row_each(kPrograms, kAllWorkloads));
  const auto program = std::ranges::find_if(
      kPrograms, [workload](const WorkloadSet& each) { return each.contains(workload); },
      &Program<Transport>::workloads);
  if (program == kPrograms.end() || program->run == nullptr)
    throw Error(fmt::format("{} does not run over this library", task.measurement));
  return program->run(task, transport);
}

}  // namespace weft::tools::perf
