// Counts ended operations and arrived messages.
#pragma once

#include <weft/completion/completion.hpp>

#include <cstdint>

namespace weft {

/// The cheapest completion object: payloads are discarded, signals are counted. Any thread may read, any
/// thread may signal.
class Counter final : public Completion {
 public:
  Counter() noexcept = default;
  ~Counter() override { withdraw(); }

  void signal(Message&) noexcept override {
    // Pairs with the acquire in value(): what the signalling thread did before is visible to the reader.
    value_.fetch_add(1, std::memory_order_release);
    notify_waiters();
  }
  /// Signals since construction or the last reset.
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(std::memory_order_acquire); }
  /// Sets what wait() waits for: ready() holds once value() has reached `target`.
  void set_target(std::uint64_t target) noexcept { target_.store(target, std::memory_order_relaxed); }
  [[nodiscard]] bool ready() const noexcept override {
    return value() >= target_.load(std::memory_order_relaxed);
  }
  void reset() noexcept { value_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
  std::atomic<std::uint64_t> target_{1};
};

}  // namespace weft
