// Receiving from the lanes of a device.
#pragma once

#include "network/network.hpp"
#include "network/shm/lane/receive_lane.hpp"
#include "network/shm/lane/receive_lanes.hpp"
#include "network/shm/lane/reply_slots.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::network::shm {

/// Takes messages from a lane that the calling thread has entered: from a header that is not zero to
/// Sink::deliver(). Polling decides which lane is polled, and when.
class Receiver {
 public:
  /// `copier` keeps payloads that lie in slots. All must outlive the object.
  Receiver(ReceiveLanes& lanes, ReplySlots& reply_slots, detail::PayloadLender& copier) noexcept
      : lanes_(lanes), reply_slots_(reply_slots), copier_(copier) {}

  /// Takes up to about `limit` messages; returns their number. `alone`: no other lane is polled, so that the
  /// call may wait a little.
  std::size_t receive(ReceiveLane& lane, Sink& sink, std::size_t limit, bool alone) noexcept;

 private:
  class ReusedReplySlot;
  std::size_t receive_ring(ReceiveLane& lane, Sink& sink, std::size_t limit, bool alone,
                           bool is_due) noexcept;
  bool receive_reply_slot(ReceiveLane& lane, Sink& sink) noexcept;
  void reply_slot_is_read(ReceiveLane& lane, detail::Slot& reply_slot, std::uint64_t header) noexcept;
  void hand_on_slow(ReceiveLane& lane, detail::Slot& reply_slot, std::uint32_t turn, std::uint64_t ring_slots,
                    std::size_t size) noexcept;
  void publish_credit(ReceiveLane& lane, std::uint64_t head) noexcept;
  std::uint64_t deliver_multi_slot(ReceiveLane& lane, std::uint64_t header, std::uint64_t& head,
                                   std::size_t limit, Sink& sink) noexcept;
  bool deliver_slow(ReceiveLane& lane, detail::Slot& slot, std::uint64_t header, Sink& sink) noexcept;
  // receive_slow.cpp
  static void end_pause(ReceiveLane& lane) noexcept;
  bool deliver_packet(ReceiveLane& lane, const detail::Slot& slot, std::uint64_t header, Sink& sink) noexcept;
  void follow(ReceiveLane& lane, const detail::Slot& slot, Sink& sink) noexcept;

  ReceiveLanes& lanes_;
  ReplySlots& reply_slots_;
  detail::PayloadLender& copier_;
};

}  // namespace weft::network::shm
