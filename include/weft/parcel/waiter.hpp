// How a task, or any other thread, waits for an event.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/parcel/detail/wait_state.hpp>

#include <chrono>
#include <cstdint>
#include <semaphore>
#include <source_location>
#include <type_traits>

namespace weft::parcel {

class TaskStack;

namespace detail {

/// A deadline of another clock, or a time from now, on the clock of waits; one too far away is the last.
template <class Rep, class Period>
[[nodiscard]] std::chrono::steady_clock::time_point steady_deadline(
    const std::chrono::duration<Rep, Period>& longest) {
  using Steady = std::chrono::steady_clock;
  const auto now = Steady::now();
  if (std::chrono::duration<double>(longest) >=
      std::chrono::duration<double>(Steady::time_point::max() - now))
    return Steady::time_point::max();
  return now + std::chrono::ceil<Steady::duration>(longest);
}
template <class Clock, class Duration>
[[nodiscard]] std::chrono::steady_clock::time_point steady_deadline(
    const std::chrono::time_point<Clock, Duration>& deadline) {
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>)
    return std::chrono::ceil<std::chrono::steady_clock::duration>(deadline);
  else
    return steady_deadline(deadline - Clock::now());
}

}  // namespace detail

/// What somebody waits for, as `weft run --explain` tells it.
struct WaitReason {
  const char* what = "an event";  ///< of static lifetime
  const void* subject = nullptr;  ///< the object that is waited for
  std::source_location where = std::source_location::current();
};

/// Waits for one notify(). A task that waits gives up its worker and is continued by any worker of its
/// runtime; any other thread sleeps. What futures, mutexes and the like are made of; used once.
///
///     Waiter waiter({"my event", this, where});
///     my_list.add(waiter);                          // whoever makes the event calls waiter.notify()
///     waiter.wait();
///
/// Not to be called with a lock held that another task may want while this one waits, unless it is a
/// weft::parcel::Mutex. thread_local variables are another thread's after it.
class WEFT_API Waiter {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws weft::Error when there is no memory for the stack on which the worker could go on. A task does
  /// not wait for anything else between this and wait().
  explicit Waiter(const WaitReason& reason);
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// Returns after notify(), which may have come before.
  void wait() noexcept;
  /// The same, or returns false at the deadline. notify() may then still come, for as long as the one who
  /// calls it can reach this object.
  [[nodiscard]] bool wait_until(Clock::time_point deadline) noexcept;
  /// After wait_until() has returned false, where notify() is certain to be under way: returns after it.
  void await_notify() noexcept;
  /// Ends the wait; once. The object may be gone when this returns. Any thread.
  void notify() noexcept;
  [[nodiscard]] bool is_notified() const noexcept { return state_.is_notified(); }

 private:
  friend class WorkerPool;
  friend class Timers;

  void suspend() noexcept;
  /// Runs on the stack that the worker goes on with.
  static void publish(void* waiter) noexcept;

  detail::WaitState<> state_;
  TaskStack* const stack_;  // of the task; nullptr: another thread
  WaitReason reason_;
  std::binary_semaphore signal_{0};
};

}  // namespace weft::parcel
