#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tools::perf {

/// One round of one measurement. `weft perf` starts itself with a task for every round, so that no round
/// inherits state from the one before.
struct Task {
  std::string measurement;  ///< a name of the catalogue, e.g. "rate/serial-handler"
  bool verify = false;      ///< check every message instead of measuring
  std::size_t size = 8;     ///< payload bytes
  std::size_t window = 64;  ///< see WorkloadInfo
  std::size_t buffers = 1;
  int threads = 1;
  bool shared = false;
  int ranks = 2;
  bool yields = false;            ///< there are fewer cores than threads: waits yield
  bool progress_thread = false;   ///< weft has a progress thread
  std::int64_t compute_ns = 0;    ///< busy work before each message
  bool fresh = false;             ///< payloads are written right before their posts
  std::uint64_t seed = 1;         ///< of random numbers
  double seconds = 0.25;          ///< duration of the messages, without the warm-up
  double warm_up = 0.05;          ///< seconds of warm-up before
  bool apart = false;             ///< each rank is on a host of its own
  bool reversed = false;          ///< phases of one process in the opposite order
  std::vector<int> processors{};  ///< of the ranks or threads; empty: the kernel places them

  /// The part of `measurement` after the slash.
  [[nodiscard]] std::string_view transport() const;
};

std::string text_of(const Task& task);
/// Throws weft::Error for text that text_of() did not write.
Task parse_task(std::string_view text);

/// One line of a worker: the result of a rank's round. Printed as JSON.
struct Outcome {
  std::string role;       ///< "sender", "receiver", "both"
  double value = 0;       ///< messages per second, or nanoseconds
  double core_share = 1;  ///< processor time over elapsed time while it was measured
  /// Per workload. solo: rate alone and together, thread by thread; matching: ns per posted receive; several
  /// threads: rate of each
  std::vector<double> parts{};
  std::vector<double> percentiles_ns{};  ///< 50, 99 and 99.9, of latencies and of round trips
  std::vector<float> round_trips_ns{};   ///< of one thread, not printed: source of its rank's percentiles
  std::string peer_library{};            ///< of a plugin: name of its library
  std::size_t messages = 0;
  // Findings of a verifying receiver:
  std::size_t lost = 0;
  std::size_t duplicated = 0;
  std::size_t torn = 0;
};

void print(const Outcome& outcome);
/// Parses the outcomes in the lines of a worker's output. Throws weft::Error when a line is none.
std::vector<Outcome> parse_outcomes(std::string_view output);

}  // namespace weft::tools::perf
