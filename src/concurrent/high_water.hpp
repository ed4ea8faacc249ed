// The highest index of a table that was ever used.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::concurrent {

/// One more than the largest index that was ever noted. A search of a table whose low indices are used first
/// can end there.
class HighWater {
 public:
  /// Any thread.
  void note(std::uint32_t index) noexcept {
    std::uint32_t used = used_.load(std::memory_order_relaxed);
    while (index >= used)
      [[unlikely]] if (used_.compare_exchange_weak(used, index + 1, std::memory_order_relaxed)) return;
  }
  [[nodiscard]] std::uint32_t value() const noexcept { return used_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> used_{0};
};

}  // namespace weft::concurrent
