// What an engine expects of the next receive: that it waits for its message, or that the message is there.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::core {

class ReceiveExpectation {
 public:
  explicit ReceiveExpectation(bool serial) noexcept : serial_(serial), expected_(value_of(serial, false)) {}

  /// Returns true when the engine is serial exactly if `serial`, and expects_unexpected() is false. Any
  /// thread.
  [[nodiscard]] bool expects_receives(bool serial) const noexcept {
    return expected_.load(std::memory_order_relaxed) == value_of(serial, false);
  }
  /// Returns true when the messages of the last receives were all unexpected, so that the next one's probably
  /// is, too. Any thread; a guess.
  [[nodiscard]] bool expects_unexpected() const noexcept {
    return expected_.load(std::memory_order_relaxed) == value_of(serial_, true);
  }
  /// Records whether the message of a receive that left the fast path was unexpected. Written only when that
  /// changes the count.
  void learn_unexpected(bool was_there) noexcept {
    const std::uint32_t before = unexpected_in_row_.load(std::memory_order_relaxed);
    const std::uint32_t after = !was_there ? 0 : before < kExpected ? before + 1 : before;
    if (after == before) return;
    unexpected_in_row_.store(static_cast<std::uint8_t>(after), std::memory_order_relaxed);
    expected_.store(value_of(serial_, after == kExpected), std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kExpected = 4;  // messages in a row; fewer may be the beginning of a window
  static constexpr std::uint8_t value_of(bool serial, bool arrived) noexcept {
    return static_cast<std::uint8_t>((serial ? 2 : 0) + (arrived ? 1 : 0));
  }

  const bool serial_;
  std::atomic<std::uint8_t> unexpected_in_row_{0};  // unexpected messages in a row
  std::atomic<std::uint8_t> expected_;  // the value that a post of a receive checks, in one comparison
};

}  // namespace weft::core
