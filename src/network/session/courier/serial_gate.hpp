// Lets a visitor into what one thread uses without a lock.
#pragma once

#include "concurrent/process_barrier.hpp"

#include <atomic>

namespace weft::network::session {

/// The owner, which is one thread at a time by contract, enters and leaves without a locked instruction; a
/// visitor pays for both with a barrier in all threads of the process. Nobody waits: who meets another goes
/// away again.
class SerialGate {
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

  /// Returns false when the owner or another visitor is inside. Only where concurrent::has_private_barrier().
  [[nodiscard]] bool try_visit() noexcept {
    if (is_visited_.exchange(true, std::memory_order_acq_rel)) return false;
    concurrent::private_barrier();
    // Pairs with the release in leave().
    if (!is_inside_.load(std::memory_order_acquire)) return true;
    end_visit();
    return false;
  }
  void end_visit() noexcept { is_visited_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> is_inside_{false};
  std::atomic<bool> is_visited_{false};
};

}  // namespace weft::network::session
