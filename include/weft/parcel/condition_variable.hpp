// A condition variable for tasks.
#pragma once

#include <weft/parcel/mutex.hpp>

#include <condition_variable>

namespace weft::parcel {

/// As std::condition_variable, with a weft::parcel::Mutex: a task that waits gives up its worker. There are
/// no spurious wake-ups, but other tasks may have run between notify_one() and the return of wait().
class WEFT_API ConditionVariable {
 public:
  constexpr ConditionVariable() noexcept = default;
  ConditionVariable(const ConditionVariable&) = delete;
  ConditionVariable& operator=(const ConditionVariable&) = delete;

  void wait(std::unique_lock<Mutex>& lock,
            const std::source_location& where = std::source_location::current()) {
    (void)wait_slowly(lock, Waiter::Clock::time_point::max(), where);
  }
  template <class Predicate>
  void wait(std::unique_lock<Mutex>& lock, Predicate predicate,
            const std::source_location& where = std::source_location::current()) {
    while (!predicate()) wait(lock, where);
  }
  template <class Clock, class Duration>
  std::cv_status wait_until(std::unique_lock<Mutex>& lock,
                            const std::chrono::time_point<Clock, Duration>& deadline,
                            const std::source_location& where = std::source_location::current()) {
    return wait_slowly(lock, detail::steady_deadline(deadline), where) ? std::cv_status::no_timeout
                                                                       : std::cv_status::timeout;
  }
  /// Returns what the predicate says at the end.
  template <class Clock, class Duration, class Predicate>
  [[nodiscard]] bool wait_until(std::unique_lock<Mutex>& lock,
                                const std::chrono::time_point<Clock, Duration>& deadline, Predicate predicate,
                                const std::source_location& where = std::source_location::current()) {
    const Waiter::Clock::time_point steady = detail::steady_deadline(deadline);
    while (!predicate())
      if (!wait_slowly(lock, steady, where)) return predicate();
    return true;
  }
  template <class Rep, class Period>
  std::cv_status wait_for(std::unique_lock<Mutex>& lock, const std::chrono::duration<Rep, Period>& longest,
                          const std::source_location& where = std::source_location::current()) {
    return wait_until(lock, detail::steady_deadline(longest), where);
  }
  template <class Rep, class Period, class Predicate>
  [[nodiscard]] bool wait_for(std::unique_lock<Mutex>& lock,
                              const std::chrono::duration<Rep, Period>& longest, Predicate predicate,
                              const std::source_location& where = std::source_location::current()) {
    return wait_until(lock, detail::steady_deadline(longest), std::move(predicate), where);
  }
  void notify_one() noexcept;
  void notify_all() noexcept;

 private:
  [[nodiscard]] bool wait_slowly(std::unique_lock<Mutex>& lock, Waiter::Clock::time_point deadline,
                                 const std::source_location& where);

  std::mutex queue_mutex_;
  detail::WaiterQueue queue_;
};

}  // namespace weft::parcel
