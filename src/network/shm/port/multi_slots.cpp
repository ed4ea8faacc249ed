// Fast paths for messages larger than a slot that are rarer than write_multi_slot().
#include "base/memory/bulk_copy.hpp"
#include "network/multi_slot_lane.hpp"
#include "network/shm/port/send_lanes.hpp"

#include <cstring>

namespace weft::network {

namespace shm {

/// Under the lane's lock: once the lane has been given up, no packet is noted as held by this peer.
PacketReference lend_packet(std::byte* packet, std::uint32_t index, const Peer& peer,
                            std::size_t size) noexcept {
  if (!peer.had_packets.load(std::memory_order_relaxed)) [[unlikely]]
    peer.had_packets.store(true, std::memory_order_relaxed);
  PacketHeader& header = *(reinterpret_cast<PacketHeader*>(packet) - 1);
  const std::uint32_t generation = header.generation.load(std::memory_order_relaxed);
  // Pairs with the acquire in ShmNetwork::reclaim_packets(), which orders the next user of the packet after
  // this thread. (The peer's return orders them as well, but a race detector does not see other processes.)
  header.generation.store(generation, std::memory_order_release);
  header.holder.store(static_cast<std::uint32_t>(peer.rank) + 1, std::memory_order_relaxed);
  return {index, generation, size};
}

}  // namespace shm

bool reserve_slots(MultiSlotLane& lane, std::size_t slots) noexcept {
  if (static_cast<shm::SendState&>(lane).is_given_up) return false;
  lane.learn_credit();
  return static_cast<std::size_t>(lane.end - lane.next) >= slots;
}

[[gnu::noinline]] bool write_into_reply_slot(detail::SendLane& lane, std::uint64_t word, std::uint8_t channel,
                                             Bytes payload, const MultiSlotTrailer& trailer) noexcept {
  auto& state = static_cast<shm::SendState&>(lane);
  const std::size_t size = payload.size() + trailer.size;
  // Pairs with the release in SendState::take_reply_slot(), as the load in detail::claim_slot() does.
  detail::Slot* const reply_slot = lane.reply_slot.load(std::memory_order_acquire);
  if (reply_slot == nullptr || size > shm::kReplySlotPayload || state.is_given_up || state.peer->has_left())
    return false;
  lane.reply_slot.store(nullptr, std::memory_order_relaxed);
  lane.pass();
  // Only the first header in the reply slot is read as a header.
  base::copy_bulk(reply_slot->payload, payload.data(), payload.size());
  if (trailer.size != 0)
    std::memcpy(reply_slot->payload + payload.size(), &trailer.bits, sizeof trailer.bits);
  reply_slot->word = word;
  state.count(1, size, trailer.size != 0);
  detail::commit_slot(lane, {reply_slot, lane.reply_slot_mark, lane.next}, size, channel);
  return true;
}

bool write_packet(detail::SendLane& lane, std::uint64_t word, std::uint8_t channel, std::byte* packet,
                  std::uint32_t index, std::size_t size, const MultiSlotTrailer& trailer) noexcept {
  auto& state = static_cast<shm::SendState&>(lane);
  if (!has_slots(state, 1) || state.peer->has_left()) [[unlikely]]
    return false;
  detail::Slot* const slot = lane.next;
  detail::prefetch_for_write(slot + detail::kPrefetchDistance);
  const shm::PacketReference reference = shm::lend_packet(packet, index, *state.peer, size);
  std::memcpy(slot->payload, &reference, sizeof reference);
  slot->word = word;
  state.count(1, size, trailer.size != 0);
  detail::commit_slot(lane, {slot, lane.mark, slot + 1}, sizeof reference, channel, detail::SlotKind::packet);
  return true;
}

}  // namespace weft::network
