// Parking of threads on a simulated network.
#pragma once

#include "network/sim/flight.hpp"
#include "network/sim/members.hpp"
#include "network/sim/simulated_accesses.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>

namespace weft::network::sim {

/// Time must not stand still for threads that are parked: as long as traffic is under way to a device, its
/// waiting threads keep polling. All must outlive the object.
class SimulatedParking {
 public:
  SimulatedParking(std::mutex& mutex, const Members& members, const SimulatedAccesses& accesses) noexcept
      : mutex_(mutex), members_(members), accesses_(accesses) {}

  /// Returns false while traffic is under way to the device, so that its waiting threads go on polling.
  [[nodiscard]] bool prepare_park(DeviceAddress address, Mailbox& mailbox) noexcept;
  bool park(DeviceAddress address, Mailbox& mailbox, std::uint32_t token,
            std::chrono::nanoseconds limit) noexcept;
  void wake(Mailbox& mailbox) noexcept;

 private:
  [[nodiscard]] bool expects_something(DeviceAddress address, const Mailbox& mailbox) const noexcept;

  std::mutex& mutex_;
  const Members& members_;
  const SimulatedAccesses& accesses_;
};

}  // namespace weft::network::sim
