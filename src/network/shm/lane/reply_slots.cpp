#include "network/shm/lane/reply_slots.hpp"

#include "network/shm/segment/segment.hpp"

#include <cstddef>
#include <string>

namespace weft::network::shm {

using detail::DevicePath;
using detail::Slot;

namespace {

constexpr std::uint32_t kFirstTurn = 1;  // of the lower rank, whose turns are odd

/// Converts the number of a slot that a peer has written into an address; nullptr when it is impossible.
Slot* reply_slot_at(const Mapping& mapping, std::uint32_t number) noexcept {
  const std::uint64_t offset = std::uint64_t{number} * sizeof(Slot);
  return mapping.contains(offset, kReplySlotBytes) ? reinterpret_cast<Slot*>(mapping.base() + offset)
                                                   : nullptr;
}

}  // namespace

void ReplySlots::pair(SendState& state, const Outgoing& outgoing) noexcept {
  if (outgoing.traffic != TrafficClass::data || lanes_.has_stripes()) return;
  if (state.peer->rank >= rank()) return;
  ReceiveLane* chosen = nullptr;
  const std::uint32_t high = lanes_.announced();
  for (std::uint32_t index = 0; index < high; ++index) {
    ReceiveLane* const lane = lanes_.find(index);
    if (lane == nullptr || !lane->is_data || lane->peer != state.peer || lane->device != outgoing.device)
      continue;
    if (lane->lock.closed() || lane->reply.is_paired.load(std::memory_order_relaxed)) continue;
    if (chosen == nullptr || lane->stripe == state.stripe) chosen = lane;
  }
  if (chosen != nullptr) offer(*chosen, state);
}

void ReplySlots::pair(ReceiveLane& lane) noexcept {
  if (!lane.is_data || lane.reply.is_paired.load(std::memory_order_relaxed)) return;
  if (lane.peer->rank >= rank()) return;
  SendState* chosen = nullptr;
  for (std::uint32_t column = 0; column < DevicePath::kNoColumn; ++column) {
    SendState* const state = lane_back(lane, column);
    if (state == nullptr || state->is_paired.load(std::memory_order_relaxed)) continue;
    if (chosen == nullptr || lane.stripe == state->stripe) chosen = state;
  }
  if (chosen != nullptr) offer(lane, *chosen);
}

void ReplySlots::offer(ReceiveLane& lane, SendState& back) noexcept {
  // Another thread may be offering a reply slot for the other lane.
  if (back.is_paired.exchange(true, std::memory_order_relaxed)) return;
  if (lane.reply.is_paired.exchange(true, std::memory_order_relaxed)) {
    back.is_paired.store(false, std::memory_order_relaxed);
    return;
  }
  const std::uint64_t offset = shared_.segment->allocate_reply_slot();
  const auto number = static_cast<std::uint32_t>(offset / sizeof(Slot));
  if (offset == 0 || number != offset / sizeof(Slot)) return;  // both lanes go on without a reply slot
  Slot& reply_slot = *reply_slot_at(shared_.segment->mapping(), number);
  shared_.log.debug([&] {
    return "lane " + std::to_string(lane.index) + " of stripe " + std::to_string(lane.stripe) +
           " and the lane to rank " + std::to_string(lane.peer->rank) + " of stripe " +
           std::to_string(back.stripe) + " have a reply slot";
  });
  lane.reply.own_offset = back.own_reply_slot = offset;
  back.paired.store(&reply_slot, std::memory_order_release);
  lane.reply.back.store(&back,
                        std::memory_order_release);  // pairs with the acquire in awaits_answer()
  lane.reply.turn.store(kFirstTurn, std::memory_order_relaxed);
  lane.poll_delay.set_side(true);
  // Pairs with the acquires of polls, which then see the turn.
  lane.reply.slot.store(&reply_slot, std::memory_order_release);
  lanes_.area().announcement(lane.index).reply_slot.store(number, std::memory_order_relaxed);
  Announcement& entry = back.area->announcement(back.index);
  entry.reply_slot_lane = static_cast<std::uint16_t>(lane.index);
  // Pairs with the acquire in accept().
  entry.reply_slot.store(number, std::memory_order_release);
  detail::ring_doorbell(back);
}

void ReplySlots::accept(ReceiveLane& lane) noexcept {
  if (!lane.is_data || lane.reply.is_paired.load(std::memory_order_relaxed) || lane.peer->rank <= rank())
    return;
  const Announcement& entry = lanes_.area().announcement(lane.index);
  const std::uint32_t number = entry.reply_slot.load(std::memory_order_acquire);
  Slot* const reply_slot = number != 0 ? reply_slot_at(*lane.peer->mapping, number) : nullptr;
  if (reply_slot == nullptr) return;
  for (std::uint32_t column = 0; column < DevicePath::kNoColumn; ++column) {
    SendState* const state = lane_back(lane, column);
    // A later lane that uses the same announcement has not been offered this reply slot.
    if (state == nullptr || state->index != entry.reply_slot_lane ||
        state->area->announcement(state->index).reply_slot.load(std::memory_order_relaxed) != number)
      continue;
    if (state->is_paired.exchange(true, std::memory_order_relaxed)) break;
    lane.reply.is_paired.store(true, std::memory_order_relaxed);
    lane.reply.back.store(state,
                          std::memory_order_release);  // pairs with the acquire in awaits_answer()
    lane.reply.turn.store(kFirstTurn + 1, std::memory_order_relaxed);
    lane.reply.slot.store(reply_slot, std::memory_order_release);
    state->paired.store(reply_slot, std::memory_order_release);
    state->take_reply_slot(*reply_slot, kFirstTurn);
    return;
  }
  resume(lane);
}

void ReplySlots::resume(ReceiveLane& lane) noexcept {
  const std::uint32_t number =
      lanes_.area().announcement(lane.index).reply_slot.load(std::memory_order_acquire);
  if (number == 0) return;
  const Mapping& own = shared_.segment->mapping();
  const bool is_lower = own.header().rank < lane.peer->rank;
  Slot* const reply_slot = reply_slot_at(is_lower ? *lane.peer->mapping : own, number);
  if (reply_slot == nullptr) return;
  if (!is_lower) lane.reply.own_offset = std::uint64_t{number} * sizeof(Slot);
  const std::uint32_t last = lane.ring.control->reply_slot_turn.load(std::memory_order_relaxed);
  lane.reply.is_paired.store(true, std::memory_order_relaxed);
  lane.reply.turn.store(last != 0  ? last + 2
                        : is_lower ? kFirstTurn + 1
                                   : kFirstTurn,
                        std::memory_order_relaxed);
  lane.reply.passed = (last + 1) / 2 % detail::kPassed;
  lane.reply.slot.store(reply_slot, std::memory_order_release);
}

}  // namespace weft::network::shm
