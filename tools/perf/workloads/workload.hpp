#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace weft::tools::perf {

/// Workloads of a round. Those from `matched` on run over any transport (transport.hpp).
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
  enqueue,
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
  streams_1,
  streams_2,
  streams_4,
  streams_to_one,
  pairs_1,
  pairs_2,
  pairs_4,
  pairs_shared_2,
  pairs_shared_4,
  unexpected,
  unacknowledged,
  matched_any_source,
  matched_any_tag,
  unexpected_any_source,
  unexpected_any_tag,
  many_to_one,
  all_to_all,
  allreduce,
  allreduce_1k,
  allreduce_1m,
  exchange,
  polling_1,
  polling_2,
  polling_4,
  polling_shared_1,
  polling_shared_2,
  polling_shared_4,
  am_64k,
  am_256k,
  am_1m,
  am_4m,
  am_16m,
  am_fresh_64k,
  am_fresh_256k,
  am_fresh_1m,
  am_fresh_4m,
  am_fresh_16m,
};

enum class Unit { messages, nanoseconds, bytes, ratio, percent };

/// Parameters of a workload that may be varied.
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
  std::size_t buffers;     ///< distinct buffers of the payloads
  std::string_view title;  ///< with placeholders for size, window and number of ranks
  int threads = 1;         ///< of each rank; thread i talks to thread i of the other rank
  bool shared = false;     ///< all threads of a rank use one device, worker or communicator
  int ranks = 2;

  [[nodiscard]] Variant own() const { return {size, window, ranks}; }

  /// Returns true when a smaller figure is better.
  [[nodiscard]] bool smaller_is_better() const { return unit == Unit::nanoseconds || unit == Unit::percent; }
};

std::span<const WorkloadInfo> all_workloads();
/// Returns true when the workload consists of windows that one thread of each rank sends and acknowledges.
bool is_window(Workload workload);
/// Returns true when its figure is the round trips of thread pairs.
bool is_pairs(Workload workload);
/// Returns true for pairs of threads whose resources are those of streams: serial, and in MPI's order.
bool is_streams(Workload workload);
/// Returns true for programs that only poll.
bool is_polling(Workload workload);
/// Returns true for sums over all ranks.
bool is_allreduce(Workload workload);
/// Returns true when threads of one rank send active messages to those of the other, one way.
bool is_stream_of_threads(Workload workload);
/// Returns true for a stream of large active messages.
bool is_large_stream(Workload workload);
/// Returns true when its figure counts accesses to the memory of another rank.
bool is_access_rate(Workload workload);
/// Returns true for operations on a resource of weft by itself.
bool is_resource(Workload workload);
// Return true when the workload takes --size, --window, --ranks.
bool takes_size(Workload workload);
bool takes_window(Workload workload);
bool takes_ranks(Workload workload);
const WorkloadInfo& info_of(Workload workload);
/// Returns nullptr when there is none of that name.
const WorkloadInfo* find_workload(std::string_view name);

}  // namespace weft::tools::perf
