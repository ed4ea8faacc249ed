#pragma once

#include <cstddef>
#include <string_view>

namespace weft::tools::perf {

/// How far a run is, in one line of standard error; nothing when that is not a terminal.
class ProgressBar {
 public:
  explicit ProgressBar(std::size_t steps);
  ~ProgressBar() { finish(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// What is being done now.
  void show(std::string_view name);
  void advance() { ++done_; }
  void extend(std::size_t steps) { steps_ += steps; }
  /// Erases the line.
  void finish();

 private:
  const bool shown_;
  std::size_t steps_;
  std::size_t done_ = 0;
};

}  // namespace weft::tools::perf
