#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "perf/workload.hpp"

namespace weft::tools::perf {

/// What one round of one measurement does. `weft perf` starts itself with a task for every round, so that no
/// round inherits anything from the one before.
struct Task {
  std::string measurement;  ///< a name of the catalogue, e.g. "rate/serial-handler"
  bool verify = false;      ///< check every message instead of measuring
  std::size_t size = 8;     ///< payload bytes
  std::size_t window = 64;  ///< see WorkloadInfo
  std::size_t buffers = 1;
  int threads = 1;
  bool shared = false;
  int ranks = 2;
  bool yields = false;            ///< there are fewer cores than threads: waits let others run
  bool progress_thread = false;   ///< weft is progressed by a thread of its own
  std::int64_t compute_ns = 0;    ///< busy work before each message
  bool fresh = false;             ///< payloads are written right before their posts
  std::uint64_t seed = 1;         ///< of what is random
  double seconds = 0.25;          ///< how long messages flow, warm-up aside
  double warm_up = 0.05;          ///< seconds before that
  bool reversed = false;          ///< phases of one process in the opposite order
  std::vector<int> processors{};  ///< of the ranks or threads; empty: wherever they are put

  /// The part after the slash.
  [[nodiscard]] std::string_view transport() const;
};

std::string text_of(const Task& task);
/// Throws weft::Error for text that text_of() did not write.
Task parse_task(std::string_view text);

/// One line of a worker: what a rank has to tell about its round. Printed as JSON.
struct Outcome {
  std::string role;       ///< "sender", "receiver", "both"
  double value = 0;       ///< messages per second, or nanoseconds
  double core_share = 1;  ///< processor time over elapsed time while it was measured
  /// solo: rate alone and together, thread by thread; matching: ns per posted receive; several threads: rate
  /// of each
  std::vector<double> parts{};
  std::vector<double> percentiles_ns{};  ///< 50, 99 and 99.9, of latencies and of round trips
  std::vector<float> round_trips_ns{};  ///< of one thread, not printed: what its rank's percentiles come from
  std::string peer_library{};           ///< of a plugin: what it talks to
  std::size_t messages = 0;
  // What a verifying receiver found:
  std::size_t lost = 0;
  std::size_t duplicated = 0;
  std::size_t torn = 0;
};

void print(const Outcome& outcome);
/// The outcomes among the lines of a worker's output. Throws weft::Error when a line is none.
std::vector<Outcome> parse_outcomes(std::string_view output);

/// Does a task, as the process that `weft perf --worker` is.
int run_worker(const Task& task);

// The workers, by what they measure.
int run_ring(const Task& task);
int run_line(const Task& task);
int run_weft_rate(const Task& task);
int run_weft_latency(const Task& task);
int run_weft_verify(const Task& task);
int run_weft_transport(const Task& task, Workload workload);
int run_raw(const Task& task, Workload workload);

}  // namespace weft::tools::perf
