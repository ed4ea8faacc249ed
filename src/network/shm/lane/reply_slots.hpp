// The reply slots of a device: which two lanes share one.
#pragma once

#include "network/network.hpp"
#include "network/shm/lane/receive_lane.hpp"
#include "network/shm/lane/receive_lanes.hpp"
#include "network/shm/lane/send_state.hpp"

#include <cstdint>

namespace weft::network::shm {

/// A reply slot is a slot that carries messages of two lanes, one in each direction, in turns.
///
/// A message in a ring moves its line twice: the sender takes it from a receiver that is polling it, and the
/// receiver fetches it again. A line that is written by the rank that has just read it moves once. Both sides
/// agree by counting turns; a rank whose turn it is not uses the ring. docs/decisions/017 has the
/// measurements.
///
/// The higher of the two ranks offers a reply slot, from its segment, as soon as it has a lane from and one
/// to a device; when threads share the device, find_answers() first finds the two lanes that belong together.
/// The lower rank has the first turn. No rank has to use its turn, and a lane that ends leaves its reply slot
/// where it is: a reply slot belongs to its two lanes, and is free when both have ended.
class ReplySlots {
 public:
  /// `path`: the lanes for data from the device. All must outlive the object.
  ReplySlots(const Shared& shared, ReceiveLanes& lanes, const detail::DevicePath& path) noexcept
      : shared_(shared), lanes_(lanes), path_(path) {}

  /// Offers a reply slot for a new lane to a lower rank and a lane that comes from there.
  void pair(SendState& state, const Outgoing& outgoing) noexcept;
  /// Offers a reply slot for a lane from a lower rank and one of this rank's lanes back to it.
  void pair(ReceiveLane& lane) noexcept;
  /// Accepts a reply slot that the higher rank has offered. Called by the lower rank when a lane is attached,
  /// and when its doorbell has been rung. With the lane entered.
  void accept(ReceiveLane& lane) noexcept;
  /// Resumes a lane that an earlier device of this index had paired: the message that the peer may still
  /// write into the reply slot is received, and there are no further turns. With the lane entered.
  void resume(ReceiveLane& lane) noexcept;

  // pairing.cpp
  /// Searches for the lane that answers this one, of which all slots before `head` have been read. With the
  /// lane entered.
  void find_answers(ReceiveLane& lane, std::uint64_t head) noexcept;
  /// Called after every PollDelay::kEpoch answers by the reply slot. With the lane entered.
  void end_epoch(ReceiveLane& lane, std::uint32_t epoch) noexcept;

 private:
  [[nodiscard]] int rank() const noexcept { return shared_.segment->mapping().header().rank; }
  [[nodiscard]] SendState* lane_back(const ReceiveLane& lane, std::uint32_t column) const noexcept {
    return static_cast<SendState*>(
        path_.lane(lane.peer->rank, static_cast<std::uint8_t>(lane.device), column));
  }
  void offer(ReceiveLane& lane, SendState& back) noexcept;
  [[nodiscard]] SendState* answering_lane(ReceiveLane& lane, std::uint64_t received) noexcept;

  const Shared& shared_;
  ReceiveLanes& lanes_;
  const detail::DevicePath& path_;
};

}  // namespace weft::network::shm
