// Slow path of sending, behind inlined posts: several slots, packets, full lanes, growth.
#include "network/multi_slots.hpp"
#include "network/shm/port/port.hpp"
#include "network/shm/port/send_lanes.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

namespace weft {

bool detail::reserve_slot(SendLane& lane) noexcept {
  const std::uint64_t tail = lane.tail();
  if (tail >= lane.limit) {
    lane.learn_credit();
    if (tail >= lane.limit) return false;
  }
  // Not prefetching the first lines of the ring costs a stream nothing measurable; prefetched here, all at
  // once, they delay the next 16 messages.
  if (lane.next == lane.slots + lane.mask + 1) lane.move_to(tail, lane.limit);
  return true;
}

namespace network::shm {

using detail::Slot;
using detail::SlotKind;

namespace {

/// Number of slots up to which messages of several slots make a lane grow. A larger ring would hold few more
/// messages and would not fit into the caches: docs/decisions/015.
constexpr std::uint32_t kMultiSlotGrowth = 4096;

/// Tells from the state that the peer has published for a handle whether messages may be sent to it.
SendResult admission(const Peer& peer, std::uint64_t word) noexcept {
  const auto id = static_cast<std::uint16_t>(word >> 48);
  const auto generation = static_cast<std::uint16_t>(word >> 32);
  const std::uint32_t there = peer.mapping->handle_states()[id].load(std::memory_order_relaxed);
  const auto generation_there = static_cast<std::uint16_t>(there >> 16);
  if (generation_there < generation) return SendResult::not_ready;
  // Messages to older and withdrawn handles are sent: the receiver refuses, counts and reports them.
  const bool stopped = static_cast<HandleState>(there & 0xffff) == HandleState::stopped;
  return generation_there == generation && stopped ? SendResult::no_credit : SendResult::sent;
}

}  // namespace

/// Makes `slots` slots free in the lane; returns false when that is impossible now. `most`: number of slots
/// up to which the ring may grow.
bool SendLanes::make_room(SendState& state, std::size_t slots, std::uint32_t most) noexcept {
  detail::SendLane& lane = state;
  const std::uint64_t tail = lane.tail();
  if (tail + slots <= lane.limit) return true;
  lane.learn_credit();
  return tail + slots <= lane.limit || (grow(state, most) && lane.tail() + slots <= lane.limit);
}

/// Makes room for a message in consecutive slots, from the lane's next one on: the message starts over at the
/// ring's first slot when it does not fit before the ring's end. Returns false when there is not enough room.
bool SendLanes::find_room(SendState& state, std::size_t slots) noexcept {
  detail::SendLane& lane = state;
  const auto needed = [&] {
    const std::uint64_t to_end = lane.mask + 1 - (lane.tail() & lane.mask);
    return slots <= to_end ? slots : slots + to_end;
  };
  const std::uint32_t most =
      slots == 1 ? shared_.lane_slots_max : std::min(shared_.lane_slots_max, kMultiSlotGrowth);
  // In the larger ring that the lane may have got, the message may need fewer slots than before.
  if (!make_room(state, needed(), most) && lane.tail() + needed() > lane.limit) return false;
  std::uint64_t tail = lane.tail();
  if (const std::uint64_t skipped = needed() - slots; skipped != 0) {
    detail::commit(lane, lane.at(tail), lane.header_at(tail, 0, 0, SlotKind::padding), lane.next);
    tail += skipped;
    state.called += skipped;
  }
  lane.move_to(tail, lane.limit);
  return true;
}

bool SendLanes::grow(SendState& state, std::uint32_t most) noexcept {
  detail::SendLane& lane = state;
  const auto slots = static_cast<std::uint32_t>(lane.mask + 1);
  if (slots >= most) return false;
  const Segment::Ring larger = shared_.segment->allocate_larger_ring(std::min(slots * 4, most));
  if (larger.offset == 0) return false;
  const RingMarker marker{larger.offset, larger.slots};
  const std::uint64_t tail = lane.tail();
  Slot& slot = lane.at(tail);
  std::memcpy(slot.payload, &marker, sizeof marker);
  detail::commit(lane, slot, lane.header_at(tail, sizeof marker, 0, SlotKind::resized), lane.next);
  shared_.segment->retire_ring(state.ring);
  grown_.fetch_add(1, std::memory_order_relaxed);
  state.ring = larger;
  state.multi_slot_end = nullptr;
  lane.begin_move();
  state.earlier += tail;
  lane.slots = shared_.segment->slots(larger);
  lane.mask = larger.slots - 1;
  lane.place_at(0);
  lane.end_move();
  lane.set_limit(lane.mask);
  lane.control = &shared_.segment->control(larger);
  shared_.log.debug([&] {
    return "the lane to rank " + std::to_string(state.peer->rank) + " grows from " + std::to_string(slots) +
           " to " + std::to_string(larger.slots) + " slots";
  });
  return true;
}

template <class Fill>
SendResult SendLanes::send(const Outgoing& outgoing, std::size_t slots, std::uint64_t header_size,
                           SlotKind kind, const Fill& fill) noexcept {
  SendResult result = SendResult::sent;
  SendState* state = lane_for(outgoing, result);
  if (state == nullptr) return result;
  if (state->peer->has_left()) return SendResult::peer_left;
  detail::SendLane& lane = *state;
  const auto refuse = [&](SendResult why) {
    return state->peer->opens_nothing_more() ? SendResult::peer_left : why;
  };
  const bool exclusive = is_exclusive() && !state->is_shared;
  if (outgoing.to_handle) {
    result = admission(*state->peer, outgoing.word);
    if (result != SendResult::sent) return refuse(result);
  }
  auto* const hold = detail::enter(lane.bias, lane.lock, exclusive);
  if (hold == nullptr) return SendResult::lock_contended;
  if (state->is_given_up) [[unlikely]] {
    detail::leave(hold, exclusive);
    return SendResult::peer_left;
  }
  if (static_cast<std::size_t>(lane.end - lane.next) < slots && !find_room(*state, slots)) {
    if (outgoing.reserves_room) lane.set_limit(lane.tail());
    detail::leave(hold, exclusive);
    return state->area->presence.load(std::memory_order_relaxed) == Presence::open
               ? SendResult::no_slot
               : refuse(SendResult::not_ready);
  }
  Slot& slot = *lane.next;
  fill(slot);
  slot.word = outgoing.word;
  detail::commit_slot(lane, {&slot, lane.mark, lane.next + slots}, header_size, outgoing.channel, kind);
  if (slots > 1) state->ends_with_multi_slot(&slot, lane.next);
  state->called += slots;
  if (outgoing.traffic == TrafficClass::control && !outgoing.is_notice) {
    state->awaited_header.store(slot.header.load(std::memory_order_relaxed), std::memory_order_relaxed);
    // Pairs with the acquire in is_awaited().
    state->awaited.store(&slot, std::memory_order_release);
  }
  if (outgoing.reserves_room) lane.set_limit(lane.tail());
  detail::leave(hold, exclusive);
  return SendResult::sent;
}

SendResult ShmPort::send(const Outgoing& outgoing, Bytes payload) noexcept {
  return sends_.send(outgoing, slots_for(payload.size()), payload.size(), SlotKind::message,
                     [&](Slot& slot) { write_payload(&slot, payload); });
}

SendResult ShmPort::send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size) noexcept {
  const Mapping& own = shared_.segment->mapping();
  std::byte* const data =
      own.base() + own.header().packets_offset + sizeof(PacketHeader) + packet * own.header().packet_stride;
  return sends_.send(outgoing, 1, sizeof(PacketReference), SlotKind::packet, [&](Slot& slot) {
    const PacketReference reference = lend_packet(data, packet, *shared_.peers->known(outgoing.peer), size);
    std::memcpy(slot.payload, &reference, sizeof reference);
  });
}

}  // namespace network::shm
}  // namespace weft
