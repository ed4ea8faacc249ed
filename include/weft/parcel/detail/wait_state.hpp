// The hand-over between a task that leaves its stack and whoever makes it go on.
#pragma once

#include <weft/detail/language.hpp>

#include <atomic>
#include <cstdint>

namespace weft::parcel::detail {

/// A stack must not be run before it was left, and the event may come before that. So the one who is second
/// makes it go on: publish(), which runs on the next stack, or notify(). A deadline is one of several
/// notifiers, of which one wins.
template <template <class> class Atomic = std::atomic>
class WaitState {
 public:
  /// The stack was left. True: the event has come, and the caller makes the stack go on; nobody else does.
  [[nodiscard]] bool publish() noexcept {
    std::uint32_t state = kRunning;
    // Releases the stack to notify() and expire(), which acquire it; acquires what notify() releases.
    return !state_.compare_exchange_strong(state, kLeft, std::memory_order_acq_rel,
                                           std::memory_order_acquire);
  }
  /// The event. True: the caller makes the stack go on. False: publish() does, or the deadline has. This may
  /// be gone after it.
  [[nodiscard]] bool notify() noexcept {
    return state_.exchange(kNotified, std::memory_order_acq_rel) == kLeft;
  }
  /// The deadline: the caller makes the stack go on (`ended`), is to ask again, as the stack has not been
  /// left yet (`early`), or is too late.
  enum class Expiry : std::uint8_t { ended, early, late };
  [[nodiscard]] Expiry expire() noexcept {
    std::uint32_t state = kLeft;
    if (state_.compare_exchange_strong(state, kExpired, std::memory_order_acq_rel, std::memory_order_acquire))
      return Expiry::ended;
    return state == kRunning ? Expiry::early : Expiry::late;
  }
  [[nodiscard]] bool is_notified() const noexcept {
    return state_.load(std::memory_order_acquire) == kNotified;
  }

 private:
  enum State : std::uint32_t { kRunning, kLeft, kNotified, kExpired };
  Atomic<std::uint32_t> state_{kRunning};
};

}  // namespace weft::parcel::detail
