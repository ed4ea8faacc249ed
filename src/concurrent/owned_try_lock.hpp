// A try-lock with an owner; another thread can wait until the thread inside has left.
#pragma once

#include "concurrent/while_waiting.hpp"

#include <sched.h>
#include <atomic>
#include <cstdint>

namespace weft::concurrent {

/// A try-lock that records its holder, for work that is skipped when another thread does it already. Threads
/// are identified by numbers from 0 up. The atomic type is a parameter so that tests can drive schedules.
template <template <class> class Atomic = std::atomic>
class OwnedTryLock {
 public:
  /// Enters the lock. Returns false when another thread is inside, or the lock is closed.
  [[nodiscard]] bool enter(std::uint32_t thread) noexcept {
    std::uint32_t nobody = kNobody;
    // Pairs with the release in leave().
    return inside_.load(std::memory_order_relaxed) == kNobody &&
           inside_.compare_exchange_strong(nobody, thread + 1, std::memory_order_acquire);
  }
  /// Enters the lock without a locked instruction, for a caller that is the only one that ever enters.
  void enter_alone(std::uint32_t thread) noexcept {
    inside_.store(thread + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  /// Returns true when that thread is inside.
  [[nodiscard]] bool is_inside(std::uint32_t thread) const noexcept {
    return inside_.load(std::memory_order_relaxed) == thread + 1;
  }
  void leave() noexcept {
    // Both releases pair with the acquires in await_exit(): reads inside have been completed.
    visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    inside_.store(closed_.load(std::memory_order_relaxed) ? kClosed : kNobody, std::memory_order_release);
  }

  /// Closes the lock: no thread enters any more once the caller, which is inside, has left.
  void close() noexcept { closed_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }
  /// Returns true when the lock is closed and the last thread has left. Pairs with the release in leave().
  [[nodiscard]] bool is_shut() const noexcept { return inside_.load(std::memory_order_acquire) == kClosed; }
  /// Reopens a lock that is_shut(). One thread only may call it; its earlier writes are visible to threads
  /// that enter.
  void reopen() noexcept {
    closed_.store(false, std::memory_order_relaxed);
    inside_.store(kNobody, std::memory_order_release);
  }

  /// Returns when no thread other than `own` is inside that entered before the call. An object that the
  /// caller has removed, and whose removal it has made visible to all threads (private_barrier()), is not
  /// used by any thread afterwards. Does meanwhile what WhileWaiting says.
  void await_exit(std::uint32_t own) const noexcept {
    const std::uint32_t visits = visits_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint32_t inside = inside_.load(std::memory_order_acquire);
      if (inside == kNobody || inside == kClosed || inside == own + 1) return;
      // The thread that is inside now may have entered later than the one seen first.
      if (visits_.load(std::memory_order_acquire) != visits) return;
      WhileWaiting::work();
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
