#pragma once

#include <atomic>
#include <cstdint>

namespace weft::tools::perf {

/// The limit of latency: one cache line that two threads pass to each other.
struct alignas(64) Line {
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  std::atomic<std::uint64_t> value{0};  // odd: the turn of the second thread

  /// Makes `count` round trips, as the first thread.
  void ping(std::uint64_t count) {
    std::uint64_t next = value.load(std::memory_order_relaxed);
    for (; count != 0; --count) {
      value.store(next + 1, std::memory_order_release);
      next += 2;
      while (value.load(std::memory_order_acquire) != next) {
      }
    }
  }
  /// The second thread's part, until the first calls end().
  void answer() {
    for (std::uint64_t expected = 1;; expected += 2) {
      std::uint64_t seen;
      while ((seen = value.load(std::memory_order_acquire)) != expected) {
        if (seen == kEnd) return;
      }
      value.store(expected + 1, std::memory_order_release);
    }
  }
  void end() { value.store(kEnd, std::memory_order_release); }
};

}  // namespace weft::tools::perf
