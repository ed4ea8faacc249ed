#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace weft::tools::perf {

/// What a round does. Workloads from `matched` on run over any transport (transport.hpp).
enum class Workload {
  rate,
  latency,
  solo,
  solo_shared,
  resource_queue,
  resource_matching,
  resource_packet,
  idle,
  wake_up,
  modes,
  matched,
  matched_latency,
  matching,
  outstanding_100,
  outstanding_1000,
  bandwidth_64k,
  bandwidth_1m,
  reused_64k,
  reused_1m,
  put_rate,
  get_rate,
  put_bandwidth,
  get_bandwidth,
  add_rate,
  fetch_add_rate,
  rate_threads_1,
  rate_threads_2,
  rate_threads_4,
  rate_threads_8,
  rate_shared_2,
  rate_shared_4,
  rate_shared_8,
  threads_1,
  threads_2,
  threads_4,
  shared_2,
  shared_4,
  pairs_1,
  pairs_2,
  pairs_4,
  pairs_shared_2,
  pairs_shared_4,
  unexpected,
  unacknowledged,
  many_to_one,
  all_to_all,
  allreduce,
  allreduce_1k,
  allreduce_1m,
  exchange,
};

enum class Unit { messages, nanoseconds, bytes, ratio, percent };

/// What of a workload may be varied.
struct Variant {
  std::size_t size;    ///< payload bytes
  std::size_t window;  ///< see WorkloadInfo
  int ranks;

  bool operator==(const Variant&) const = default;
};

struct WorkloadInfo {
  Workload workload;
  std::string_view name;
  Unit unit;
  std::size_t size;    ///< payload bytes
  std::size_t window;  ///< messages between acknowledgements, or accesses between flushes, or receives posted
  std::size_t buffers;     ///< distinct ones that the payload comes from and goes to
  std::string_view title;  ///< with places for size, window and number of ranks
  int threads = 1;         ///< of each rank; thread i talks to thread i of the other rank
  bool shared = false;     ///< all threads of a rank use one device, worker or communicator
  int ranks = 2;

  [[nodiscard]] Variant own() const { return {size, window, ranks}; }

  /// Of two figures the smaller one is the better one.
  [[nodiscard]] bool smaller_is_better() const { return unit == Unit::nanoseconds || unit == Unit::percent; }
};

std::span<const WorkloadInfo> all_workloads();
/// Whether it consists of windows that one thread of each rank sends and acknowledges.
bool is_window(Workload workload);
/// Whether its figure is the round trips of thread pairs.
bool is_pairs(Workload workload);
/// Whether it is sums over all ranks.
bool is_allreduce(Workload workload);
/// Whether threads of one rank send active messages to those of the other, one way.
bool is_stream_of_threads(Workload workload);
/// Whether its figure counts accesses to the memory of another rank.
bool is_access_rate(Workload workload);
/// Whether it is operations on a resource of weft by itself.
bool is_resource(Workload workload);
// Whether --size, --window, --ranks concern it.
bool takes_size(Workload workload);
bool takes_window(Workload workload);
bool takes_ranks(Workload workload);
const WorkloadInfo& info_of(Workload workload);
/// nullptr when there is none of that name.
const WorkloadInfo* find_workload(std::string_view name);

}  // namespace weft::tools::perf
