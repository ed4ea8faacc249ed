#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tools::perf {

/// What one round of one measurement does. `weft perf` starts itself with a task for every round, so that no
/// round inherits anything from the one before.
struct Task {
  std::string measurement;        ///< a name of the catalogue, e.g. "rate/serial-handler"
  bool verify = false;            ///< check every message instead of measuring
  std::size_t size = 8;           ///< payload bytes
  double seconds = 0.25;          ///< how long messages flow, warm-up aside
  bool reversed = false;          ///< phases of one process in the opposite order
  std::vector<int> processors{};  ///< of the two ranks or threads; empty: wherever they are put

  /// The part after the slash.
  [[nodiscard]] std::string_view transport() const;
};

std::string text_of(const Task& task);
/// Throws weft::Error for text that text_of() did not write.
Task parse_task(std::string_view text);

/// One line of a worker: what a rank has to tell about its round. Printed as JSON.
struct Outcome {
  std::string role;             ///< "sender", "receiver", "both"
  double value = 0;             ///< messages per second, or nanoseconds
  double core_share = 1;        ///< processor time over elapsed time while it was measured
  std::vector<double> parts{};  ///< of solo: rate alone and together, thread by thread
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
int run_solo(const Task& task);

}  // namespace weft::tools::perf
