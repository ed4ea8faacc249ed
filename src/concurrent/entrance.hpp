// One thread at a time is inside; another may wait until whoever was inside has come out.
#pragma once

#include <sched.h>
#include <atomic>
#include <cstdint>

namespace weft::concurrent {

/// A try-lock that knows who holds it, for work that is skipped when another thread does it already. Threads
/// name themselves by numbers from 0 up. The atomic type is a parameter so that tests can drive schedules.
template <template <class> class Atomic = std::atomic>
class Entrance {
 public:
  /// False: another thread is inside, or the entrance is closed.
  [[nodiscard]] bool enter(std::uint32_t thread) noexcept {
    std::uint32_t nobody = kNobody;
    // Pairs with the release in leave().
    return inside_.load(std::memory_order_relaxed) == kNobody &&
           inside_.compare_exchange_strong(nobody, thread + 1, std::memory_order_acquire);
  }
  /// For a caller who is the only one that ever enters: no locked instruction.
  void enter_alone(std::uint32_t thread) noexcept {
    inside_.store(thread + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void leave() noexcept {
    // Both pair with the acquires in await_exit(): what was read inside has been read.
    visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    inside_.store(closed_.load(std::memory_order_relaxed) ? kClosed : kNobody, std::memory_order_release);
  }

  /// Nobody enters any more once the caller, who is inside, has left.
  void close() noexcept { closed_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

  /// Returns when no thread other than `own` is inside that entered before the call. What the caller has
  /// taken away, and made all threads see as gone (private_barrier()), is used by nobody afterwards.
  void await_exit(std::uint32_t own) const noexcept {
    const std::uint32_t visits = visits_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint32_t inside = inside_.load(std::memory_order_acquire);
      if (inside == kNobody || inside == kClosed || inside == own + 1) return;
      // The thread that is inside now may be a later one than that which was.
      if (visits_.load(std::memory_order_acquire) != visits) return;
      ::sched_yield();
    }
  }

 private:
  static constexpr std::uint32_t kNobody = 0;
  static constexpr std::uint32_t kClosed = ~std::uint32_t{0};
  Atomic<std::uint32_t> inside_{kNobody};  // the number of the thread inside plus one
  Atomic<bool> closed_{false};
  Atomic<std::uint32_t> visits_{0};  // how often threads have left
};

}  // namespace weft::concurrent
