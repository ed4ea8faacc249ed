#pragma once

#include "perf/active_messages.hpp"
#include "perf/allreduce.hpp"
#include "perf/atomics.hpp"
#include "perf/exchange.hpp"
#include "perf/idle.hpp"
#include "perf/many_ranks.hpp"
#include "perf/one_sided.hpp"
#include "perf/pairs.hpp"
#include "perf/streams.hpp"
#include "perf/workload.hpp"

namespace weft::tools::perf {

/// One rank's part of a round of any workload that the transport is capable of.
template <class Transport>
Outcome run_over(Transport& transport, const Task& task, Workload workload) {
  switch (workload) {
    case Workload::matched:
    case Workload::outstanding_100:
    case Workload::outstanding_1000:
    case Workload::bandwidth_64k:
    case Workload::bandwidth_1m:
    case Workload::reused_64k:
    case Workload::reused_1m:
    case Workload::threads_1:
    case Workload::threads_2:
    case Workload::threads_4:
    case Workload::shared_2:
    case Workload::shared_4:
      if constexpr (Transport::kHasMatching) return run_window(task, transport);
      break;
    case Workload::unexpected:
      if constexpr (Transport::kHasMatching) return run_unexpected(task, transport);
      break;
    case Workload::unacknowledged:
      if constexpr (Transport::kHasMatching) return run_unacknowledged(task, transport);
      break;
    case Workload::many_to_one:
      if constexpr (RankedTransport<Transport>) return run_many_to_one(task, transport);
      break;
    case Workload::all_to_all:
      if constexpr (RankedTransport<Transport>) return run_all_to_all(task, transport);
      break;
    case Workload::allreduce:
    case Workload::allreduce_1k:
    case Workload::allreduce_1m:
      if constexpr (CollectiveTransport<Transport>) return run_allreduce(task, transport);
      break;
    case Workload::pairs_1:
    case Workload::pairs_2:
    case Workload::pairs_4:
    case Workload::pairs_shared_2:
    case Workload::pairs_shared_4:
      if constexpr (Transport::kHasMatching) return run_pair_of_threads(task, transport);
      break;
    case Workload::matched_latency:
      if constexpr (Transport::kHasMatching) return run_ping_pong(task, transport);
      break;
    case Workload::exchange:
      if constexpr (Transport::kHasMatching) return run_exchange(task, transport);
      break;
    case Workload::matching:
      if constexpr (Transport::kHasMatching) return run_matching(task, transport);
      break;
    case Workload::put_rate:
    case Workload::put_bandwidth:
      if constexpr (Transport::kHasAccess) return run_access(task, transport, true);
      break;
    case Workload::get_rate:
    case Workload::get_bandwidth:
      if constexpr (Transport::kHasAccess) return run_access(task, transport, false);
      break;
    case Workload::add_rate:
    case Workload::fetch_add_rate:
      if constexpr (AtomicTransport<Transport>)
        return run_additions(task, transport, workload == Workload::fetch_add_rate);
      break;
    case Workload::rate:
    case Workload::rate_threads_1:
    case Workload::rate_threads_2:
    case Workload::rate_threads_4:
    case Workload::rate_threads_8:
    case Workload::rate_shared_2:
    case Workload::rate_shared_4:
    case Workload::rate_shared_8:
      if constexpr (Transport::kHasActiveMessages) return run_active_messages(task, transport);
      break;
    case Workload::latency:
      if constexpr (Transport::kHasActiveMessages) return run_am_ping_pong(task, transport);
      break;
    case Workload::solo:
    case Workload::idle:
      if constexpr (Transport::kHasMatching) return run_idle(task, transport);
      break;
    case Workload::wake_up:
      if constexpr (Transport::kHasMatching) return run_wake_up(task, transport);
      break;
    case Workload::solo_shared:
    case Workload::modes:
    case Workload::resource_queue:
    case Workload::resource_matching:
    case Workload::resource_packet:
      break;
  }
  throw Error(fmt::format("{} does not run over this library", task.measurement));
}

}  // namespace weft::tools::perf
