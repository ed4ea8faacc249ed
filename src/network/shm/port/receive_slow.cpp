// Slow path of receiving: messages in packets, the change to the lane's next ring, and the lane's end.
#include "network/shm/port/receiver.hpp"

#include <weft/detail/message_access.hpp>

#include <bit>
#include <cstring>

namespace weft::network::shm {

using detail::Slot;

bool Receiver::deliver_packet(ReceiveLane& lane, const Slot& slot, std::uint64_t header,
                              Sink& sink) noexcept {
  PacketReference reference;
  std::memcpy(&reference, slot.payload, sizeof reference);
  PeerPackets& packets = *lane.packets;
  const std::byte* data = packets.resolve(reference.index, reference.size);
  if (data == nullptr) {
    sink.reject(lane.peer->rank, "packet index or size out of range", reference.index);
    return true;
  }
  const std::uint64_t word = slot.word;
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, lane.peer->rank,
                                  static_cast<std::uint32_t>(word), data, reference.size, &packets,
                                  PeerPackets::cookie_of(reference.index, reference.generation));
  if (!sink.deliver(static_cast<std::uint8_t>(header >> 8), word, message)) return false;
  if (!detail::MessageAccess::was_kept(message))
    packets.release(reference.index, reference.generation, message.size());
  if (reference.size > kShortMessage) lane.counts.bytes += reference.size;
  return true;
}

void Receiver::follow(ReceiveLane& lane, const Slot& slot, Sink& sink) noexcept {
  RingMarker marker;
  std::memcpy(&marker, slot.payload, sizeof marker);
  const Mapping& mapping = *lane.peer->mapping;
  if (!std::has_single_bit(marker.slots) || marker.slots > 1U << 20 || marker.ring_offset % 64 != 0 ||
      !mapping.contains(marker.ring_offset, ring_bytes(marker.slots))) {
    sink.reject(lane.peer->rank, "ring outside the segment", marker.ring_offset);
    lanes_.detach(lane, Announcement::State::claimed);
    return;
  }
  detail::LaneControl* left = lane.ring.control;
  auto* const control = reinterpret_cast<detail::LaneControl*>(mapping.base() + marker.ring_offset);
  control->reply_slot_turn.store(left->reply_slot_turn.load(std::memory_order_relaxed),
                                 std::memory_order_release);
  lane.counts.earlier += lane.ring.head;
  lane.ring.move_to(control, marker.slots, 0);
  lane.pacing.begin_ring();
  lane.next.store(&lane.ring.slots[0], std::memory_order_relaxed);
  // Pairs with the acquire in Segment::reclaim().
  left->released.store(1, std::memory_order_release);
  if (Announcement& entry = lanes_.area().announcement(lane.index);
      entry.state.load(std::memory_order_relaxed) == Announcement::State::ready) {
    entry.ring_offset = marker.ring_offset;
    entry.slots = marker.slots;
  }
}

/// Uses the reply slot again; after one more turn with messages in the ring it pauses once more. With the
/// lane entered.
[[gnu::noinline]] void Receiver::end_pause(ReceiveLane& lane) noexcept {
  lane.reply.paused_until = 0;
  lane.reply.head_then = lane.ring.head;
  if (SendState* const back = lane.next_holder(); back != nullptr)
    back->take_reply_slot(*lane.reply.slot.load(std::memory_order_relaxed),
                          lane.reply.turn.load(std::memory_order_relaxed) - 1);
}

}  // namespace weft::network::shm
