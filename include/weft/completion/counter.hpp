// Counters of ended operations and arrived messages.
#pragma once

#include <weft/completion/arrivals.hpp>
#include <weft/completion/completion.hpp>
#include <weft/detail/bias.hpp>

#include <cstdint>

namespace weft {

/// The cheapest completion object: payloads are discarded, signals are counted. Any thread may read, any
/// thread may signal. The thread that signals first executes no locked instruction, then and later; other
/// threads do.
class Counter final : public Completion {
 public:
  Counter() noexcept : Completion(CountsOnly{}) {}
  ~Counter() override { retire(); }

  void signal(Message&) noexcept override { add(1); }
  void signal_batch(Arrivals& arrivals) noexcept override {
    std::uint64_t count = 0;
    arrivals.for_each([&count](Message&) { ++count; });
    add(count);
  }
  void signal_count(std::uint64_t count) noexcept override { add(count); }
  /// Signals since construction or the last reset.
  [[nodiscard]] std::uint64_t value() const noexcept {
    return own_.load(std::memory_order_acquire) + others_.load(std::memory_order_acquire);
  }
  /// Sets the target of ready(), for all threads: it returns true once value() has reached `target`; 1 at
  /// first. Endpoint::wait(counter, target) neither uses nor changes it.
  void set_target(std::uint64_t target) noexcept { target_.store(target, std::memory_order_relaxed); }
  [[nodiscard]] bool ready() const noexcept override {
    return value() >= target_.load(std::memory_order_relaxed);
  }
  /// Sets the value to 0. Not while the counter may be signalled.
  void reset() noexcept {
    own_.store(0, std::memory_order_relaxed);
    others_.store(0, std::memory_order_relaxed);
  }

 private:
  void add(std::uint64_t count) noexcept {
    // Both stores pair with the acquires in value(): earlier writes of the signalling thread are visible to
    // the reader.
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

  std::atomic<std::uint64_t> own_{0};     // signals by the first thread, which alone writes it
  std::atomic<std::uint64_t> others_{0};  // signals by all other threads
  std::atomic<std::uintptr_t> owner_{0};
  std::atomic<std::uint64_t> target_{1};
};

}  // namespace weft
