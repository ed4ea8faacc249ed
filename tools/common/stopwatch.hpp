#pragma once

#include <ctime>

#include <cstdint>

namespace weft::tools {

/// Elapsed and processor time of the calling thread since construction.
class Stopwatch {
 public:
  Stopwatch() : processor_(now_ns(CLOCK_THREAD_CPUTIME_ID)), start_(now_ns(CLOCK_MONOTONIC)) {}

  [[nodiscard]] double seconds() const { return static_cast<double>(elapsed_ns()) * 1e-9; }
  /// Processor time divided by elapsed time; below 1 when the thread did not have its core for itself.
  [[nodiscard]] double core_share() const {
    const auto elapsed = static_cast<double>(elapsed_ns());
    return elapsed > 0 ? static_cast<double>(now_ns(CLOCK_THREAD_CPUTIME_ID) - processor_) / elapsed : 1;
  }

 private:
  static std::int64_t now_ns(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  }
  [[nodiscard]] std::int64_t elapsed_ns() const { return now_ns(CLOCK_MONOTONIC) - start_; }

  std::int64_t processor_;
  std::int64_t start_;
};

}  // namespace weft::tools
