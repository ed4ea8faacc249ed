// What the courier reads of a device without its lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::network::session {

/// Whether something is staged, and in which round of the device: a round ends when what is staged is sent.
/// Written under the device's lock. A hint for others, who then take the lock; whoever sets it calls the
/// courier afterwards (call_bell.hpp), so that no sleeper misses it.
///
/// The atomic type is a parameter so that tests can drive schedules.
template <template <class> class Atomic = std::atomic>
class BasicStagingState {
 public:
  void begin() noexcept { is_staging_.store(true, std::memory_order_relaxed); }
  void end() noexcept { is_staging_.store(false, std::memory_order_relaxed); }
  void end_round() noexcept { round_.store(round() + 1, std::memory_order_relaxed); }

  [[nodiscard]] bool is_staging() const noexcept { return is_staging_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t round() const noexcept { return round_.load(std::memory_order_relaxed); }

 private:
  Atomic<bool> is_staging_{false};
  Atomic<std::uint64_t> round_{1};
};
using StagingState = BasicStagingState<>;

/// The courier's view of a device: is it neglected, that is, has no call of the program ended its round since
/// the last look?
class LastLook {
 public:
  /// `carry` is called where the device is neglected.
  template <class Device, class Carry>
  void look(Device& device, const Carry& carry) {
    if (device.round() == round_) carry();
    round_ = device.round();
  }

 private:
  std::uint64_t round_ = 0;
};

}  // namespace weft::network::session
