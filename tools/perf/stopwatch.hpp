#pragma once

#include <ctime>

#include <cstdint>

#include "base/clock.hpp"

namespace weft::tools::perf {

/// Elapsed and processor time of the calling thread since construction.
class Stopwatch {
 public:
  Stopwatch() : processor_(processor_ns()), start_(base::now_ns()) {}

  [[nodiscard]] double seconds() const { return static_cast<double>(base::now_ns() - start_) * 1e-9; }
  /// Below 1: the thread did not have its core for itself.
  [[nodiscard]] double core_share() const {
    const auto elapsed = static_cast<double>(base::now_ns() - start_);
    return elapsed > 0 ? static_cast<double>(processor_ns() - processor_) / elapsed : 1;
  }

 private:
  static std::int64_t processor_ns() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  }

  std::int64_t processor_;
  std::int64_t start_;
};

/// Time before the measured part of a round unless --warm-up says otherwise, in seconds.
constexpr double warm_up_of(double seconds) { return 0.02 + seconds / 10; }

}  // namespace weft::tools::perf
