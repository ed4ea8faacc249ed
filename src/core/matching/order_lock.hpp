// The lock of an ordered engine. A serial engine has none; the lock of other engines has a bias
// (weft/detail/bias.hpp).
#pragma once

#include <weft/detail/bias.hpp>
#include <weft/detail/lock.hpp>

#include <atomic>
#include <cstdint>

namespace weft::core {

class OrderLock {
 public:
  using Hold = std::atomic<std::uint32_t>*;

  /// Returns nullptr when another thread holds the lock.
  [[nodiscard]] Hold try_enter() noexcept { return detail::enter(bias_, lock_, serial_); }
  void leave(Hold hold) noexcept { detail::leave(hold, serial_); }
  /// For callers that know whether the engine is serial. Locking: NoLock then, else TryLock. Returns nullptr
  /// also while it is undecided which thread has the bias, which try_enter() decides.
  template <class Locking>
  [[nodiscard, gnu::always_inline]] inline Hold try_enter_decided() noexcept {
    return detail::enter_decided<Locking>(bias_, lock_);
  }
  template <class Locking>
  [[gnu::always_inline]] static void leave(Hold hold) noexcept {
    detail::leave<Locking>(hold);
  }

 protected:
  explicit OrderLock(bool serial) noexcept : serial_(serial) {}
  ~OrderLock() = default;

 private:
  alignas(64) detail::Bias bias_;
  std::atomic<std::uint32_t> lock_{0};
  const bool serial_;
};

}  // namespace weft::core
