#include "network/shm/lane/send_state.hpp"

#include "network/shm/lane/lane_positions.hpp"
#include "network/shm/segment/segment.hpp"

#include <algorithm>
#include <string>

namespace weft::network::shm {

using detail::Slot;

namespace {

constexpr std::uint32_t kFewSlots = 64;  // initial number of slots of lanes that are not for data

/// Fills in a free announcement of the device. Returns false when there is none.
bool announce(const Shared& shared, const LaneRequest& request, SendState& state) noexcept {
  DeviceArea& area = *state.area;
  const SegmentHeader& there = request.peer->mapping->header();
  const int rank = shared.segment->mapping().header().rank;
  const bool is_of_rank = request.sender == kManyDevices;
  // A lane that the devices of a rank share has an announcement of its own, which other lanes cannot take.
  const std::uint32_t first = is_of_rank ? there.lanes + static_cast<std::uint32_t>(rank) * kLanesOfRank +
                                               static_cast<std::uint32_t>(request.traffic)
                                         : 0;
  const std::uint32_t count = is_of_rank ? 1 : there.lanes;
  const std::uint32_t skipped =
      is_of_rank ? 0 : std::min(area.search_from.load(std::memory_order_relaxed), count);
  for (std::uint32_t step = 0; step < count; ++step) {
    // From the hint to the end, and then those before the hint.
    const std::uint32_t index = first + (step < count - skipped ? skipped + step : step - (count - skipped));
    Announcement& entry = area.announcement(index);
    auto expected = Announcement::State::free;
    if (!entry.state.compare_exchange_strong(expected, Announcement::State::claimed,
                                             std::memory_order_acquire))
      continue;
    entry.rank = rank;
    entry.ring_offset = state.ring.offset;
    entry.slots = state.ring.slots;
    entry.traffic = static_cast<std::uint16_t>(state.traffic);
    entry.stripe = static_cast<std::uint16_t>(state.stripe);
    entry.device = request.sender;
    entry.reply_slot.store(0, std::memory_order_relaxed);
    state.index = index;
    if (!is_of_rank) area.search_from.store(index + 1, std::memory_order_relaxed);
    std::uint32_t high = area.lanes_high.load(std::memory_order_relaxed);
    while (high < index + 1 && !area.lanes_high.compare_exchange_weak(high, index + 1)) {
    }
    // Pairs with the acquire in attach().
    entry.state.store(Announcement::State::ready, std::memory_order_release);
    return true;
  }
  return false;
}

/// Returns true when the peer has read what this rank has written into the lane's reply slot.
bool has_read_reply_slot(int rank, const SendState& state) noexcept {
  const Slot* const reply_slot = state.paired.load(std::memory_order_acquire);
  if (reply_slot == nullptr) return true;
  const std::uint64_t header = reply_slot->header.load(std::memory_order_acquire);
  const bool is_lower = rank < state.peer->rank;
  const bool is_ours = detail::is_message(header) && detail::turn_of(header) % 2 == (is_lower ? 1U : 0U);
  return !is_ours ||
         state.control->reply_slot_turn.load(std::memory_order_acquire) == detail::turn_of(header);
}

}  // namespace

std::unique_ptr<SendState> open_lane(const Shared& shared, const LaneRequest& request, SendResult& refusal,
                                     bool& is_full) {
  const Peer& peer = *request.peer;
  DeviceArea& area = peer.mapping->device(request.device);
  // Pairs with the release in ShmPort's constructor at the peer.
  if (area.presence.load(std::memory_order_acquire) != Presence::open) {
    refusal = peer.opens_nothing_more() ? SendResult::peer_left : SendResult::not_ready;
    return nullptr;
  }
  auto state = std::make_unique<SendState>();
  const std::uint32_t slots = request.traffic == TrafficClass::data ? shared.lane_slots : kFewSlots;
  state->ring = request.sender == kManyDevices ? shared.segment->allocate_ring(slots)
                                               : shared.segment->allocate_device_ring(slots);
  is_full = state->ring.is_full;
  if (state->ring.offset == 0) {
    refusal = is_full ? SendResult::no_slot : SendResult::lock_contended;
    return nullptr;
  }
  state->peer = &peer;
  state->area = &area;
  state->traffic = request.traffic;
  state->stripe = request.stripe;
  state->is_shared = request.sender == kManyDevices;
  detail::SendLane& lane = *state;
  lane.slots = shared.segment->slots(state->ring);
  lane.mask = state->ring.slots - 1;
  lane.move_to(0, lane.mask);
  lane.control = &shared.segment->control(state->ring);
  lane.control->cold.store(1, std::memory_order_relaxed);
  lane.open_handles = peer.mapping->open_handles();
  if (!announce(shared, request, *state)) {
    refusal = SendResult::no_slot;
    lane.control->released.store(1, std::memory_order_relaxed);
    shared.segment->retire_ring(state->ring);
    return nullptr;
  }
  shared.log.debug([&] {
    constexpr const char* kNames[kTrafficClasses] = {"a", "a control", "an urgent", "a bulk",
                                                     "a rendezvous data"};
    return std::string(kNames[static_cast<std::size_t>(request.traffic)]) + " lane to device " +
           std::to_string(request.device) + " of rank " + std::to_string(peer.rank) + ", " +
           std::to_string(lane.mask + 1) + " slots" +
           (request.sender == kManyDevices ? ", which all devices of this rank share" : "");
  });
  return state;
}

void close_lane(const Shared& shared, SendState& state) noexcept {
  if (state.is_given_up) return;
  detail::SendLane& lane = state;
  const std::uint64_t tail = lane.tail();
  detail::commit(lane, lane.at(tail), lane.header_at(tail, 0, 0, detail::SlotKind::end), lane.next);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (lane.control->cold.load(std::memory_order_relaxed) != 0) detail::ring_doorbell(lane);
  shared.segment->retire_ring(state.ring, state.own_reply_slot, &state.peer->mapping->header().presence);
}

bool give_up_lane(const Shared& shared, SendState& state, bool exclusive) noexcept {
  if (state.is_given_up) return true;
  detail::SendLane& lane = state;
  auto* const hold = detail::enter(lane.bias, lane.lock, exclusive);
  if (hold == nullptr) return false;
  state.is_given_up = true;
  state.lost = is_consumed(shared, state) ? 0 : waiting(state);
  shared.log.debug(
      [&] { return "a lane to rank " + std::to_string(state.peer->rank) + ", which has left, is given up"; });
  lane.set_limit(lane.tail());  // inlined posts then take the slow path, which returns the error
  lane.reply_slot.store(nullptr, std::memory_order_relaxed);
  lane.credits = 0;
  lane.control->released.store(1, std::memory_order_release);
  shared.segment->retire_ring(state.ring, state.own_reply_slot);
  lane.control = &no_credit;  // another lane may get the ring
  detail::leave(hold, exclusive);
  return true;
}

bool is_consumed(const Shared& shared, const SendState& state) noexcept {
  if (!has_read_reply_slot(shared.segment->mapping().header().rank, state)) return false;
  const Slot* last = nullptr;
  if (!racy_last_slot(state, last)) return false;
  // The receiver clears the header after it has read the message.
  return last == nullptr || last->header.load(std::memory_order_acquire) == 0;
}

bool is_awaited(const Shared& shared, const SendState& state) noexcept {
  if (is_consumed(shared, state)) return false;
  if (state.traffic != TrafficClass::control ||
      !has_read_reply_slot(shared.segment->mapping().header().rank, state))
    return true;
  // What protocols tell each other matters to nobody once the peer's device has closed: it had no operation
  // left.
  if (state.area->presence.load(std::memory_order_acquire) != Presence::open) return false;
  const Slot* const last = state.awaited.load(std::memory_order_acquire);
  const std::uint64_t header = state.awaited_header.load(std::memory_order_relaxed);
  return last != nullptr && header != 0 && last->header.load(std::memory_order_acquire) == header;
}

std::uint64_t waiting(const SendState& state) noexcept {
  const std::uint64_t credit = state.control->credit.load(std::memory_order_acquire);
  const std::uint64_t tail = state.tail();
  return tail > credit ? tail - credit : 1;
}

void add_unconsumed(const Shared& shared, const SendState& state, std::map<int, Port::Unconsumed>& by_rank) {
  const std::uint64_t slots = state.is_given_up ? state.lost : is_awaited(shared, state) ? waiting(state) : 0;
  // Messages of control to a peer that has left are not lost: the peer needs no credit and no answer.
  if (slots == 0 || (state.traffic == TrafficClass::control && state.peer->has_left())) return;
  const int rank = state.peer->rank;
  Port::Unconsumed& of_rank =
      by_rank.try_emplace(rank, Port::Unconsumed{rank, 0, state.peer->has_left(), false}).first->second;
  of_rank.messages += slots;
  of_rank.needs_sender |=
      state.traffic == TrafficClass::rendezvous_data || state.traffic == TrafficClass::control;
}

void keep_if_unread(const Shared& shared, const SendState& state) noexcept {
  if (state.peer->same_process && !state.is_given_up && !state.peer->has_left() &&
      !is_consumed(shared, state))
    shared.peers->keep_for_others();
}

}  // namespace weft::network::shm
