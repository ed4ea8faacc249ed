// Signals counted in rounds: the basis of a synchronizer.
#pragma once

#include <weft/detail/language.hpp>

#include <atomic>
#include <cstdint>

namespace weft::detail {

/// Gives every signal a slot of its own, and tells when all slots of a round have been filled. Two rounds
/// have slots: the current one, which is waited for, and the next one, for signals that come before reset().
/// Any number of threads claim and finish; one at a time waits and resets. The atomic type is a parameter so
/// that tests can drive schedules.
template <template <class> class Atomic = std::atomic>
class SignalRounds {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  explicit SignalRounds(std::uint32_t signals) noexcept : signals_(signals) {}

  /// Claims the number of a signal, counted since construction; it belongs to the caller until finish().
  /// Returns kNone when both rounds are full.
  [[nodiscard]] std::uint64_t claim() noexcept {
    std::uint64_t number = claimed_.load(std::memory_order_relaxed);
    for (;;) {
      // Pairs with the release in reset(): the slots of the previous round are empty again.
      const std::uint64_t end = (round_.load(std::memory_order_acquire) + 2) * signals_;
      if (number >= end) return kNone;
      if (claimed_.compare_exchange_weak(number, number + 1, std::memory_order_relaxed,
                                         std::memory_order_relaxed))
        return number;
    }
  }
  /// Notes that the slot has been filled. Returns true when the round is complete. The caller must not touch
  /// the object any more in either case, because a waiter may have destroyed it.
  bool finish(std::uint64_t number) noexcept {
    const std::uint64_t signals = signals_;  // read before: a waiter may destroy the object right after
    // Pairs with the acquire in ready(), for every signal of the round: each fetch_add continues the same
    // release sequence.
    return filled_[number / signals % 2].fetch_add(1, std::memory_order_release) + 1 == signals;
  }
  /// Returns true when all slots of the current round are filled. Only reads.
  [[nodiscard]] bool ready() const noexcept {
    const std::uint64_t round = round_.load(std::memory_order_relaxed);
    return filled_[round % 2].load(std::memory_order_acquire) == signals_;
  }
  /// Begins the next round, once the slots of the current one are ready and have been emptied.
  void reset() noexcept {
    const std::uint64_t round = round_.load(std::memory_order_relaxed);
    filled_[round % 2].store(0, std::memory_order_relaxed);
    // Pairs with the acquire in claim().
    round_.store(round + 1, std::memory_order_release);
  }

  /// The index of the slot of a signal: 0 to twice the signals of a round, less 1.
  [[nodiscard]] std::uint64_t slot(std::uint64_t number) const noexcept { return number % (2 * signals_); }
  /// The first slot of the current round.
  [[nodiscard]] std::uint64_t first_slot() const noexcept {
    return round_.load(std::memory_order_relaxed) % 2 * signals_;
  }
  [[nodiscard]] std::uint32_t signals() const noexcept { return static_cast<std::uint32_t>(signals_); }

 private:
  const std::uint64_t signals_;  // of a round
  Atomic<std::uint64_t> claimed_{0};
  Atomic<std::uint64_t> round_{0};
  Atomic<std::uint64_t> filled_[2] = {};  // by round, alternately
};

}  // namespace weft::detail
