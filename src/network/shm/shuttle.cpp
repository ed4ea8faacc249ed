// The shuttle: a place that carries messages of two lanes, one there and one back, by turns.
//
// A message in a ring moves its line twice: its sender takes it from a receiver that is polling it, and the
// receiver fetches it again. Lines that are written by whoever has just read them move once. Both sides agree
// by counting turns; whose turn it is not uses the ring. docs/decisions/017 has the measurements.
//
// The higher of the two ranks offers a shuttle, from its segment, as soon as it has a lane from and one to a
// device; where threads share the device, dialogues.cpp finds out first which two go together. The lower rank
// has the first turn. Nobody has to use its turn, and a lane that ends leaves its shuttle where it is: a
// shuttle belongs to its two lanes for good.
#include "network/shm/port.hpp"

#include <cstddef>
#include <string>

namespace weft::network::shm {

using detail::DevicePath;
using detail::Slot;
using detail::SlotKind;

namespace {

constexpr std::uint32_t kFirstTurn = 1;  // of the lower rank, whose turns are odd
// A rest: after so many messages in a row that were not alone, for so many slots of the ring; not after
// messages of more bytes, of which rings move more lines.
constexpr std::uint32_t kDetours = 8;
constexpr std::uint64_t kRest = 256;
constexpr std::size_t kMayRest = 256;

/// What a peer has written, or nullptr where that is impossible.
Slot* shuttle_at(const Mapping& mapping, std::uint32_t place) noexcept {
  const std::uint64_t offset = std::uint64_t{place} * sizeof(Slot);
  return mapping.contains(offset, kShuttleBytes) ? reinterpret_cast<Slot*>(mapping.base() + offset) : nullptr;
}

}  // namespace

/// A new lane to a lower rank gets the shuttle of a lane that comes from there. Where threads share the
/// device find_answers() sees first which lane answers which.
void ShmPort::pair(SendState& state, const Outgoing& outgoing) noexcept {
  if (outgoing.traffic != TrafficClass::data || has_stripes_.load(std::memory_order_relaxed)) return;
  if (state.peer->rank >= shared_.segment->mapping().header().rank) return;
  ReceiveLane* chosen = nullptr;
  const std::uint32_t high = area_->lanes_high.load(std::memory_order_acquire);
  for (std::uint32_t index = 0; index < high && index < kMaxLanes; ++index) {
    // Pairs with the release in attach().
    ReceiveLane* const lane = lanes_[index].load(std::memory_order_acquire);
    if (lane == nullptr || !lane->is_data || lane->peer != state.peer || lane->device != outgoing.device)
      continue;
    if (lane->entrance.closed() || lane->is_paired.load(std::memory_order_relaxed)) continue;
    if (chosen == nullptr || lane->stripe == state.stripe) chosen = lane;
  }
  if (chosen != nullptr) offer_shuttle(*chosen, state);
}

/// The same for a lane that has been found and comes from a lower rank.
void ShmPort::pair(ReceiveLane& lane) noexcept {
  if (!lane.is_data || lane.is_paired.load(std::memory_order_relaxed)) return;
  if (lane.peer->rank >= shared_.segment->mapping().header().rank) return;
  SendState* chosen = nullptr;
  for (std::uint32_t column = 0; column < DevicePath::kNoColumn; ++column) {
    auto* const state =
        static_cast<SendState*>(path_.lane(lane.peer->rank, static_cast<std::uint8_t>(lane.device), column));
    if (state == nullptr || state->is_paired.load(std::memory_order_relaxed)) continue;
    if (chosen == nullptr || lane.stripe == state->stripe) chosen = state;
  }
  if (chosen != nullptr) offer_shuttle(lane, *chosen);
}

void ShmPort::offer_shuttle(ReceiveLane& lane, SendState& back) noexcept {
  // Another thread may be at it from the other lane.
  if (back.is_paired.exchange(true, std::memory_order_relaxed)) return;
  if (lane.is_paired.exchange(true, std::memory_order_relaxed)) {
    back.is_paired.store(false, std::memory_order_relaxed);
    return;
  }
  const std::uint64_t offset = shared_.segment->allocate_shuttle();
  const auto place = static_cast<std::uint32_t>(offset / sizeof(Slot));
  if (offset == 0 || place != offset / sizeof(Slot)) return;  // these two go on without one
  Slot& shuttle = *shuttle_at(shared_.segment->mapping(), place);
  shared_.log.debug([&] {
    return "lane " + std::to_string(lane.index) + " of stripe " + std::to_string(lane.stripe) +
           " and the lane to rank " + std::to_string(lane.peer->rank) + " of stripe " +
           std::to_string(back.stripe) + " have a shuttle";
  });
  back.paired.store(&shuttle, std::memory_order_release);
  lane.back.store(&back, std::memory_order_release);  // pairs with the acquire in awaits_answer()
  lane.turn.store(kFirstTurn, std::memory_order_relaxed);
  lane.patience.set_side(true);
  // Pairs with the acquires of polls: they see the turn.
  lane.shuttle.store(&shuttle, std::memory_order_release);
  area_->announcements[lane.index].shuttle.store(place, std::memory_order_relaxed);
  Announcement& entry = back.area->announcements[back.index];
  entry.shuttle_lane = static_cast<std::uint16_t>(lane.index);
  // Pairs with the acquire in accept_shuttle().
  entry.shuttle.store(place, std::memory_order_release);
  detail::ring_doorbell(back);
}

/// What the lower rank does when it learns of a lane, and when its doorbell has been rung. Inside the lane.
void ShmPort::accept_shuttle(ReceiveLane& lane) noexcept {
  if (!lane.is_data || lane.is_paired.load(std::memory_order_relaxed) ||
      lane.peer->rank <= shared_.segment->mapping().header().rank)
    return;
  const Announcement& entry = area_->announcements[lane.index];
  const std::uint32_t place = entry.shuttle.load(std::memory_order_acquire);
  Slot* const shuttle = place != 0 ? shuttle_at(*lane.peer->mapping, place) : nullptr;
  if (shuttle == nullptr) return;
  for (std::uint32_t column = 0; column < DevicePath::kNoColumn; ++column) {
    auto* const state =
        static_cast<SendState*>(path_.lane(lane.peer->rank, static_cast<std::uint8_t>(lane.device), column));
    // A later lane that is announced in the same place has not been offered this shuttle.
    if (state == nullptr || state->index != entry.shuttle_lane ||
        state->area->announcements[state->index].shuttle.load(std::memory_order_relaxed) != place)
      continue;
    if (state->is_paired.exchange(true, std::memory_order_relaxed)) break;
    lane.is_paired.store(true, std::memory_order_relaxed);
    lane.back.store(state, std::memory_order_release);  // pairs with the acquire in awaits_answer()
    lane.turn.store(kFirstTurn + 1, std::memory_order_relaxed);
    lane.shuttle.store(shuttle, std::memory_order_release);
    state->paired.store(shuttle, std::memory_order_release);
    hand_shuttle(*state, *shuttle, kFirstTurn);
    return;
  }
  resume_shuttle(lane);
}

/// A lane that an earlier device of this index had paired: what the peer may still write into the shuttle is
/// received, and there are no further turns. Inside the lane.
void ShmPort::resume_shuttle(ReceiveLane& lane) noexcept {
  const std::uint32_t place = area_->announcements[lane.index].shuttle.load(std::memory_order_acquire);
  if (place == 0) return;
  const Mapping& own = shared_.segment->mapping();
  const bool is_lower = own.header().rank < lane.peer->rank;
  Slot* const shuttle = shuttle_at(is_lower ? *lane.peer->mapping : own, place);
  if (shuttle == nullptr) return;
  const std::uint32_t last = lane.control->shuttle_turn.load(std::memory_order_relaxed);
  lane.is_paired.store(true, std::memory_order_relaxed);
  lane.turn.store(last != 0 ? last + 2 : is_lower ? kFirstTurn + 1 : kFirstTurn, std::memory_order_relaxed);
  lane.passed = (last + 1) / 2 % detail::kPassed;
  lane.shuttle.store(shuttle, std::memory_order_release);
}

/// Of a shuttle whose message of `size` bytes has been read, before which `detour` slots of the ring have
/// been since the last one. True: it stays here for a while, and all messages use the rings. Where small ones
/// come by both ways again and again, as where both ranks send at a time, or windows, it saves nothing, and
/// there is a second line to look at. Inside the lane.
bool ShmPort::lets_shuttle_rest(ReceiveLane& lane, std::uint64_t detour, std::size_t size) noexcept {
  if (detour == 0 || size > kMayRest)
    lane.detours = 0;
  else if (detour >= kRest / 2)
    lane.detours = kDetours - 1;  // the peer had let it rest, and tries again
  else
    ++lane.detours;
  if (lane.detours < kDetours) return false;
  lane.rests_until = lane.head + kRest;
  return true;
}

/// The shuttle is tried again; one more detour, and it rests once more. Inside the lane.
[[gnu::noinline]] void ShmPort::end_rest(ReceiveLane& lane) noexcept {
  lane.rests_until = 0;
  lane.shuttle_head = lane.head;
  if (SendState* const back = lane.back.load(std::memory_order_relaxed);
      back != nullptr && !lane.peer->gone())
    hand_shuttle(*back, *lane.shuttle.load(std::memory_order_relaxed),
                 lane.turn.load(std::memory_order_relaxed) - 1);
}

/// Whether the peer has read what this rank has written into the lane's shuttle.
bool ShmPort::has_read_shuttle(const SendState& state) const noexcept {
  const Slot* const shuttle = state.paired.load(std::memory_order_acquire);
  if (shuttle == nullptr) return true;
  const std::uint64_t header = shuttle->header.load(std::memory_order_acquire);
  const bool is_lower = shared_.segment->mapping().header().rank < state.peer->rank;
  const bool is_ours = detail::is_message(header) && detail::turn_of(header) % 2 == (is_lower ? 1U : 0U);
  return !is_ours || state.control->shuttle_turn.load(std::memory_order_acquire) == detail::turn_of(header);
}

}  // namespace weft::network::shm
