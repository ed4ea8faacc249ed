#pragma once

#include <ctime>

#include <cstdint>

namespace weft::base {

/// Nanoseconds of the monotonic clock: comparable between threads and processes of one host. A vDSO call, no
/// system call.
inline std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

inline std::int64_t seconds_to_ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

/// A point of time after which a wait is given up.
class Deadline {
 public:
  explicit Deadline(double seconds) : at_(now_ns() + seconds_to_ns(seconds)) {}
  void postpone(std::int64_t by_ns) { at_ += by_ns; }
  bool passed() const { return now_ns() >= at_; }
  /// Returns the remaining time; 0 when the deadline has passed. Rounded up, so that sleeping for the result
  /// never ends too early.
  std::int64_t remaining_ms() const {
    const std::int64_t left = at_ - now_ns();
    return left <= 0 ? 0 : (left + 999'999) / 1'000'000;
  }

 private:
  std::int64_t at_;
};

}  // namespace weft::base
