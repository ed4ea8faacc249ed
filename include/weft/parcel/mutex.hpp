// A mutex for tasks.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/parcel/waiter.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <source_location>

namespace weft::parcel {

namespace detail {

/// Somebody who waits, in a list of an object that others notify.
struct QueuedWaiter {
  explicit QueuedWaiter(const WaitReason& reason) : waiter(reason) {}
  Waiter waiter;
  QueuedWaiter* next = nullptr;
};

/// First in first out. Its owner locks it.
class WEFT_API WaiterQueue {
 public:
  void push(QueuedWaiter& waiter) noexcept;
  /// nullptr: empty.
  [[nodiscard]] QueuedWaiter* pop() noexcept;
  /// All of them, linked by `next`, or nullptr.
  [[nodiscard]] QueuedWaiter* pop_all() noexcept;
  /// False: it is not there any more.
  [[nodiscard]] bool remove(QueuedWaiter& waiter) noexcept;
  [[nodiscard]] bool is_empty() const noexcept { return first_ == nullptr; }
  /// Notifies what pop_all() has returned. The waiters, and what they are in, may be gone then.
  static void notify_all(QueuedWaiter* waiters) noexcept;

 private:
  QueuedWaiter* first_ = nullptr;
  QueuedWaiter* last_ = nullptr;
};

}  // namespace detail

/// As std::timed_mutex, but a task that waits for it gives up its worker, and a task that has it may wait: a
/// lock that is held over get() works, and whichever worker goes on with the task unlocks it. Tasks and other
/// threads may share one. Whoever waits longest is next. Not recursive.
class WEFT_API Mutex {
 public:
  constexpr Mutex() noexcept = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock(const std::source_location& where = std::source_location::current()) {
    std::uint32_t state = kFree;
    if (!state_.compare_exchange_strong(state, kLocked, std::memory_order_acquire, std::memory_order_relaxed))
        [[unlikely]]
      (void)lock_slowly(Waiter::Clock::time_point::max(), where);
  }
  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t state = kFree;
    return state_.compare_exchange_strong(state, kLocked, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  /// False: the time has passed.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline,
                                    const std::source_location& where = std::source_location::current()) {
    return try_lock() || lock_slowly(detail::steady_deadline(deadline), where);
  }
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& longest,
                                  const std::source_location& where = std::source_location::current()) {
    return try_lock() || lock_slowly(detail::steady_deadline(longest), where);
  }
  void unlock() noexcept {
    std::uint32_t state = kLocked;
    if (!state_.compare_exchange_strong(state, kFree, std::memory_order_release, std::memory_order_relaxed))
        [[unlikely]]
      unlock_slowly();
  }

 private:
  enum State : std::uint32_t { kFree, kLocked, kWaitedFor };

  [[nodiscard]] bool lock_slowly(Waiter::Clock::time_point deadline, const std::source_location& where);
  void unlock_slowly() noexcept;

  std::atomic<std::uint32_t> state_{kFree};
  std::mutex queue_mutex_;
  detail::WaiterQueue queue_;  // not empty: state_ is kWaitedFor
};

}  // namespace weft::parcel
