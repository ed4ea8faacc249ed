// Deadlines of tasks that wait.
#pragma once

#include <weft/parcel/waiter.hpp>

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>

namespace weft::parcel {

/// Any thread. Workers look at it between tasks, and sleep no longer than until the next deadline.
class Timers {
 public:
  using Entry = std::multimap<std::int64_t, Waiter*>::iterator;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  /// Nanoseconds of the clock of deadlines.
  [[nodiscard]] static std::int64_t of(Waiter::Clock::time_point time) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  }
  [[nodiscard]] Entry add(Waiter& waiter, std::int64_t deadline);
  /// Forgets the entry: afterwards nothing here touches its waiter.
  void remove(Entry entry);
  /// kNever: there is none.
  [[nodiscard]] std::int64_t next() const noexcept { return next_.load(std::memory_order_relaxed); }
  /// Ends the waits whose deadlines have passed. Returns whether there was one.
  bool fire(std::int64_t now);

 private:
  void look() noexcept;

  std::mutex mutex_;
  std::multimap<std::int64_t, Waiter*> entries_;  // nullptr: has ended its wait
  std::atomic<std::int64_t> next_{kNever};
};

}  // namespace weft::parcel
