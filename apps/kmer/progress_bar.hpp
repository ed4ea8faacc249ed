// One line on the terminal that says how far the work is.
#pragma once

#include <chrono>
#include <string_view>

namespace kmer {

/// Draws on standard error if that is a terminal and this is rank 0; otherwise does nothing. One thread.
class ProgressBar {
 public:
  explicit ProgressBar(bool is_first_rank);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `share` 0 to 1. Draws a few times per second, whatever the number of calls.
  void show(std::string_view phase, double share);
  /// Removes the line.
  void clear();

 private:
  bool is_shown_;  // whether there is anybody to look at it
  bool is_drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace kmer
