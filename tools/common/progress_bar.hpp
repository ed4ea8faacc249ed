#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace weft::tools {

/// Shows the progress of the work in one line of standard error; shows nothing when that is not a terminal.
/// One thread.
class ProgressBar {
 public:
  /// `is_wanted` is false on ranks that stay silent. Draws at most once per `interval`, whatever the number
  /// of calls.
  explicit ProgressBar(bool is_wanted = true, std::chrono::milliseconds interval = {});
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Shows `done` of `steps`, and the name of the current step.
  void show_steps(std::size_t done, std::size_t steps, std::string_view name);
  /// Shows the current phase, and the share of it that has been done, 0 to 1.
  void show_share(std::string_view phase, double share);
  /// Erases the line.
  void clear();

 private:
  /// Returns true when it is time to draw.
  bool is_due();

  const bool is_shown_;  // false when standard error is no terminal, or the bar is not wanted
  const std::chrono::milliseconds interval_;
  bool is_drawn_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace weft::tools
