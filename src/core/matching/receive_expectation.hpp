// What an engine expects of the next receive: that it waits for its message, or that the message is there.
//
// A serial engine expects nothing until the device is noted whose thread has it: the fast paths, which ask
// for an expectation, leave the first receive to a slow path, which notes the device.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::core {

class ReceiveExpectation {
 public:
  explicit ReceiveExpectation(bool serial) noexcept
      : serial_(serial), expected_(serial ? kNothing : value_of(serial, false)) {}

  /// The device whose thread last posted to a serial engine by a slow path; -1: none has, or it is closed. It
  /// ends the engine's receives when peers fail. Any thread.
  [[nodiscard]] int device() const noexcept { return device_.load(std::memory_order_relaxed); }
  void set_device(std::uint32_t device) noexcept {
    device_.store(static_cast<int>(device), std::memory_order_relaxed);
    if (!is_begun()) expect(unexpected_in_row_.load(std::memory_order_relaxed) == kExpected);
  }
  void forget_device() noexcept {
    device_.store(-1, std::memory_order_relaxed);
    expected_.store(kNothing, std::memory_order_relaxed);
  }

  /// Returns false while a serial engine expects nothing. Any thread.
  [[nodiscard]] bool is_begun() const noexcept {
    return expected_.load(std::memory_order_relaxed) != kNothing;
  }
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
    if (is_begun()) expect(after == kExpected);
  }

 private:
  static constexpr std::uint32_t kExpected = 4;  // messages in a row; fewer may be the beginning of a window
  static constexpr std::uint8_t kNothing = 4;
  static constexpr std::uint8_t value_of(bool serial, bool arrived) noexcept {
    return static_cast<std::uint8_t>((serial ? 2 : 0) + (arrived ? 1 : 0));
  }
  void expect(bool arrived) noexcept {
    expected_.store(value_of(serial_, arrived), std::memory_order_relaxed);
  }

  const bool serial_;
  std::atomic<int> device_{-1};
  std::atomic<std::uint8_t> unexpected_in_row_{0};  // unexpected messages in a row
  std::atomic<std::uint8_t> expected_;  // the value that a post of a receive checks, in one comparison
};

}  // namespace weft::core
