// Lets a visitor into what one thread uses without a lock.
#pragma once

#include <weft/detail/bias.hpp>

#include <atomic>

namespace weft::network::session {

/// The owner, which is one thread at a time by contract, enters and leaves without a locked instruction; a
/// visitor pays for both with a barrier in all threads of the process. Nobody waits: who meets another goes
/// away again.
///
/// The atomic type and the threads are parameters so that tests can drive schedules.
template <template <class> class Atomic = std::atomic, class Threads = detail::ProcessThreads>
class BasicSerialGate {
 public:
  /// For the owner. Returns false while a visitor is inside.
  [[nodiscard]] bool enter() noexcept {
    is_inside_.store(true, std::memory_order_relaxed);
    // The visitor's barrier orders the store before the load, on behalf of this thread.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // Pairs with the release in end_visit().
    if (!is_visited_.load(std::memory_order_acquire)) [[likely]]
      return true;
    leave();
    return false;
  }
  void leave() noexcept { is_inside_.store(false, std::memory_order_release); }

  /// Returns false when the owner or another visitor is inside. Only where Threads::have_barrier().
  [[nodiscard]] bool try_visit() noexcept {
    if (is_visited_.exchange(true, std::memory_order_acq_rel)) return false;
    Threads::barrier();
    // Pairs with the release in leave().
    if (!is_inside_.load(std::memory_order_acquire)) return true;
    end_visit();
    return false;
  }
  void end_visit() noexcept { is_visited_.store(false, std::memory_order_release); }

 private:
  Atomic<bool> is_inside_{false};
  Atomic<bool> is_visited_{false};
};
using SerialGate = BasicSerialGate<>;

}  // namespace weft::network::session
