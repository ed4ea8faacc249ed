// Counts ended operations and arrived messages.
#pragma once

#include <weft/completion/arrivals.hpp>
#include <weft/completion/completion.hpp>
#include <weft/detail/bias.hpp>

#include <cstdint>

namespace weft {

/// The cheapest completion object: payloads are discarded, signals are counted. Any thread may read, any
/// thread may signal. The thread that signals first executes no locked instruction, now and later; others do.
class Counter final : public Completion {
 public:
  Counter() noexcept : Completion(CountsOnly{}) {}
  ~Counter() override { withdraw(); }

  void signal(Message&) noexcept override { add(1); }
  void signal_all(Arrivals& arrivals) noexcept override { add_each(arrivals); }
  void signal_all_wide(WideArrivals& arrivals) noexcept override { add_each(arrivals); }
  void signal_count(std::uint64_t count) noexcept override { add(count); }
  /// Signals since construction or the last reset.
  [[nodiscard]] std::uint64_t value() const noexcept {
    return own_.load(std::memory_order_acquire) + others_.load(std::memory_order_acquire);
  }
  /// Sets what wait() waits for: ready() holds once value() has reached `target`.
  void set_target(std::uint64_t target) noexcept { target_.store(target, std::memory_order_relaxed); }
  [[nodiscard]] bool ready() const noexcept override {
    return value() >= target_.load(std::memory_order_relaxed);
  }
  /// Not while the counter may be signalled.
  void reset() noexcept {
    own_.store(0, std::memory_order_relaxed);
    others_.store(0, std::memory_order_relaxed);
  }

 private:
  template <class Run>
  void add_each(BasicArrivals<Run>& arrivals) noexcept {
    std::uint64_t count = 0;
    arrivals.for_each([&count](Message&) { ++count; });
    add(count);
  }
  void add(std::uint64_t count) noexcept {
    // Both stores pair with the acquires in value(): what the signalling thread did before is visible to the
    // reader.
    const std::uintptr_t me = detail::ProcessThreads::mark();
    if (owner_.load(std::memory_order_relaxed) == me || is_first(me)) [[likely]]
      own_.store(own_.load(std::memory_order_relaxed) + count, std::memory_order_release);
    else
      others_.fetch_add(count, std::memory_order_release);
    notify_waiters_of(this);
  }
  [[nodiscard]] bool is_first(std::uintptr_t me) noexcept {
    std::uintptr_t nobody = 0;
    return owner_.load(std::memory_order_relaxed) == 0 &&
           owner_.compare_exchange_strong(nobody, me, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> own_{0};     // of the thread that came first: nobody else writes it
  std::atomic<std::uint64_t> others_{0};  // of all others
  std::atomic<std::uintptr_t> owner_{0};
  std::atomic<std::uint64_t> target_{1};
};

}  // namespace weft
