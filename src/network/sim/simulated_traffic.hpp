// Messages of a simulated network: from the post to the delivery, in a random order.
#pragma once

#include "network/network.hpp"
#include "network/sim/flight.hpp"
#include "network/sim/members.hpp"
#include "network/sim/schedule.hpp"
#include "network/sim/simulated_accesses.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace weft::network::sim {

/// The lanes between all devices. All must outlive the object.
class SimulatedTraffic {
 public:
  SimulatedTraffic(std::mutex& mutex, Schedule& schedule, Members& members,
                   SimulatedAccesses& accesses) noexcept
      : mutex_(mutex), schedule_(schedule), members_(members), accesses_(accesses) {}

  SendResult send(DeviceAddress from, const Outgoing& outgoing, Bytes payload, std::uint32_t packet) noexcept;
  /// Advances time by one tick. Returns the number of the poll, or 0 when it must deliver nothing.
  std::uint64_t begin_poll(DeviceAddress address) noexcept;
  /// The deliveries that a poll may still make.
  struct Allowed {
    bool bulk;  // Urgency::last
    bool others;
  };
  /// Finds the next delivery that is due, in the order of Urgency; returns false when there is none.
  [[nodiscard]] bool next(DeviceAddress address, Mailbox& mailbox, std::uint64_t poll, Allowed allowed,
                          Delivery& delivery) noexcept;
  /// Ends a delivery. `taken` false: the message stays, and its lane rests for the rest of this poll.
  void finish(Mailbox& mailbox, std::uint64_t poll, Delivery& delivery, bool taken) noexcept;
  [[nodiscard]] const std::byte* packet_data(int owner, std::uint32_t index) const noexcept;
  void quiesce(Mailbox& mailbox) noexcept;
  [[nodiscard]] bool drained(DeviceAddress address) noexcept;
  [[nodiscard]] std::vector<Port::Unconsumed> unconsumed(DeviceAddress address);
  /// Returns true when a message was ever sent from one rank to the other.
  [[nodiscard]] bool has_lane(int from, int to) noexcept;
  /// Returns true when messages or immediates of the rank are still to be delivered to the device.
  [[nodiscard]] bool has_traffic(int from, DeviceAddress to) noexcept;

  // Under the mutex:
  /// The rank has left: what is on its way to it is lost.
  void drop_to(int rank) noexcept;
  /// The rank has died: what is on its way to it and from it is lost.
  void drop_of(int rank) noexcept;

 private:
  Lane& lane(DeviceAddress from, DeviceAddress to, TrafficClass traffic);
  [[nodiscard]] SendResult refusal(DeviceAddress from, Lane& lane, const Outgoing& outgoing) noexcept;
  [[nodiscard]] bool is_awaited(const Lane& lane) noexcept;
  void drop_flights(Lane& way) noexcept;

  std::mutex& mutex_;
  Schedule& schedule_;
  Members& members_;
  SimulatedAccesses& accesses_;
  std::deque<Lane> lanes_;
  std::condition_variable delivered_;
  std::uint32_t quiescing_ = 0;
};

}  // namespace weft::network::sim
