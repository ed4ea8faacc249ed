// The lock of a device: threads only try it.
#pragma once

#include "network/session/courier/serial_gate.hpp"

#include <weft/detail/lock.hpp>

#include <atomic>
#include <cstdint>

namespace weft::network::session {

/// Guards the transport, the links and all their counts. A thread that fails to get it returns lock_contended
/// or polls nothing.
class DeviceLock {
 public:
  /// See Port::set_exclusive().
  void set_exclusive(bool exclusive) noexcept { is_exclusive_.store(exclusive, kRelaxed); }

  /// Tries the lock and holds it until release(); false when another thread has it.
  class Guard {
   public:
    explicit Guard(DeviceLock& lock) noexcept : Guard(lock, lock.is_exclusive_.load(kRelaxed)) {}
    /// `exclusive`: as if set_exclusive() had been told so.
    Guard(DeviceLock& lock, bool exclusive) noexcept
        : word_(lock.word_), gate_(lock.gate_), exclusive_(exclusive), owns_(enter()) {}
    ~Guard() { release(); }
    void try_again() noexcept {
      if (!owns_) owns_ = enter();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    void release() noexcept {
      if (!owns_) return;
      owns_ = false;
      if (!exclusive_) return detail::TryLock::release(word_);
      detail::NoLock::release(word_);
      gate_.leave();
    }
    explicit operator bool() const noexcept { return owns_; }

   private:
    [[nodiscard]] bool enter() noexcept {
      if (!exclusive_) return detail::TryLock::acquire(word_);
      return gate_.enter() && detail::NoLock::acquire(word_);
    }

    std::atomic<std::uint32_t>& word_;
    SerialGate& gate_;
    const bool exclusive_;
    bool owns_;
  };

  /// For threads that do not use the device: holds the lock while it lives, unless a thread is inside; then
  /// owns() is false.
  class Visit {
   public:
    explicit Visit(DeviceLock& lock) noexcept : lock_(lock) {
      if (!lock.gate_.try_visit()) return;
      owns_ = detail::TryLock::acquire(lock.word_);
      if (!owns_) lock.gate_.end_visit();
    }
    ~Visit() {
      if (!owns_) return;
      detail::TryLock::release(lock_.word_);
      lock_.gate_.end_visit();
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    [[nodiscard]] bool owns() const noexcept { return owns_; }

   private:
    DeviceLock& lock_;
    bool owns_ = false;
  };

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  alignas(64) std::atomic<std::uint32_t> word_{0};
  std::atomic<bool> is_exclusive_{false};
  SerialGate gate_;
};

}  // namespace weft::network::session
