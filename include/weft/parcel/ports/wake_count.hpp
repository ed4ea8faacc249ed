// How a worker that is about to sleep learns that it has been woken.
#pragma once

#include <weft/detail/language.hpp>

#include <atomic>
#include <cstdint>

namespace weft::parcel {

/// Counts wake-ups. Whoever is to sleep reads the count, then looks for something to do, and sleeps only for
/// as long as the count is the one that it has read: a wake-up between the two ends the sleep before it
/// begins. Each sleeper compares with its own reading, so that none takes the wake-up of another. Any thread.
template <template <class> class Atomic = std::atomic>
class WakeCount {
 public:
  /// The count as of now, before looking.
  [[nodiscard]] std::uint64_t look() const noexcept {
    // Acquires what wake() releases: whoever sees the wake-up sees what it is about.
    return word_.load(std::memory_order_acquire) & ~kSomebody;
  }
  /// Whether there was a wake-up since look() returned `seen`.
  [[nodiscard]] bool has_come(std::uint64_t seen) const noexcept { return look() != seen; }
  /// Says that somebody sleeps, for wake_sleepers(). False: there was a wake-up since look() returned `seen`.
  [[nodiscard]] bool announce(std::uint64_t seen) noexcept {
    std::uint64_t word = seen;
    return word_.compare_exchange_strong(word, seen | kSomebody, std::memory_order_acq_rel,
                                         std::memory_order_acquire) ||
           word == (seen | kSomebody);
  }
  /// A wake-up, for all that have looked or announced.
  void wake() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while (!word_.compare_exchange_weak(word, (word | kSomebody) + 1, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
  }
  /// wake() if somebody has announced a sleep since the last wake-up, which costs those little who come
  /// often. Returns whether it was one. Whoever has only looked is not told.
  bool wake_sleepers() noexcept {
    if ((word_.load(std::memory_order_relaxed) & kSomebody) == 0) return false;
    wake();
    return true;
  }

 private:
  static constexpr std::uint64_t kSomebody = 1;
  Atomic<std::uint64_t> word_{0};  // twice the count, and whether somebody has announced a sleep
};

}  // namespace weft::parcel
