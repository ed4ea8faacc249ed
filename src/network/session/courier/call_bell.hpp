// Lets a thread sleep until another one has something for it.
#pragma once

#include <weft/detail/bias.hpp>

#include <atomic>
#include <cstdint>

namespace weft::network::session {

/// One thread sleeps by it, any call it. The caller, who calls often and nearly never finds it asleep, pays a
/// load; the sleeper pays for both with a barrier in all threads of the process.
///
/// The atomic type and the threads are parameters so that tests can drive schedules.
template <template <class> class Atomic = std::atomic, class Threads = detail::ProcessThreads>
class BasicCallBell {
 public:
  /// Asked after there is something: true calls for end_sleep().
  [[nodiscard]] bool is_asleep() noexcept {
    // Pairs with the barrier in sleep(): it sees what there is, or this thread sees that it sleeps.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return sleeps_.load(std::memory_order_relaxed) != 0;
  }
  /// Calls wake(word) if it is this call that ends a sleep.
  template <class Wake>
  void end_sleep(const Wake& wake) noexcept {
    if (sleeps_.exchange(0, std::memory_order_seq_cst) != 0) wake(sleeps_);
  }

  /// Calls wait(word) as long as the word is 1, unless has_work() returns true; wait() may return at any
  /// time.
  template <class HasWork, class Wait>
  void sleep(const HasWork& has_work, const Wait& wait) noexcept {
    sleeps_.store(1, std::memory_order_seq_cst);
    Threads::barrier();  // pairs with the fence in is_asleep()
    if (!has_work())
      while (sleeps_.load(std::memory_order_seq_cst) != 0) wait(sleeps_);
    sleeps_.store(0, std::memory_order_relaxed);
  }

 private:
  Atomic<std::uint32_t> sleeps_{0};  // 1: until it is called
};
using CallBell = BasicCallBell<>;

}  // namespace weft::network::session
