// How lanes come into being, end, and are accounted for.
#include "network/shm/port.hpp"

#include "concurrent/thread_number.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <new>

namespace weft::network::shm {

using detail::DevicePath;
using detail::Slot;

ShmPort::ShmPort(const Shared& shared, std::uint32_t index, DevicePath& path, detail::PayloadLender& copier)
    : shared_(shared), path_(path), copier_(copier), area_(&shared.segment->mapping().device(index)) {
  no_lanes_ = std::make_unique<DevicePath::LaneRow[]>(
      DevicePath::row_size(static_cast<std::size_t>(shared_.peers->size())));
  for (std::size_t traffic = 0; traffic < kTrafficClasses; ++traffic) {
    DevicePath& each = path_for(static_cast<TrafficClass>(traffic));
    each.ranks = static_cast<std::uint32_t>(shared_.peers->size());
    for (auto& row : each.rows) row.store(no_lanes_.get(), std::memory_order_relaxed);
  }
  // A message and the rest of a lap that it skips must fit beside what the receiver has not credited yet.
  capabilities_.inline_bytes =
      std::min(shared_.inline_max, detail::kSlotPayload + sizeof(Slot) * (shared_.lane_slots / 4 - 1));
  capabilities_.can_read = true;
  capabilities_.keeps_order = true;
  // Lanes to an earlier device of this index go on: look at all of them.
  for (std::uint32_t lane = 0; lane < kMaxLanes; ++lane)
    if (area_->announcements[lane].state.load(std::memory_order_acquire) == Announcement::State::ready)
      area_->doorbells[lane / 64].fetch_or(std::uint64_t{1} << (lane % 64), std::memory_order_relaxed);
  // Pairs with the acquire in set_up_lane() of peers.
  area_->presence.store(Presence::open, std::memory_order_release);
}

ShmPort::~ShmPort() {
  area_->presence.store(Presence::closed, std::memory_order_release);
  for (const auto& lane : receive_lanes_) {
    if (lane->entrance.closed()) continue;
    lane->control->credit.store(lane->head, std::memory_order_release);
    lane->control->cold.store(1, std::memory_order_relaxed);
  }
  for (const auto& state : send_states_) {
    if (state->is_given_up) continue;
    detail::SendLane& lane = *state;
    const std::uint64_t tail = lane.tail();
    lane.at(tail).header.store(lane.header_at(tail, 0, 0, detail::SlotKind::closed),
                               std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (lane.control->cold.load(std::memory_order_relaxed) != 0) detail::ring_doorbell(lane);
    shared_.segment->retire_ring(state->ring);
  }
}

namespace {

constexpr std::uint32_t kFewSlots = 64;  // of lanes that are not for data, at first

SendState* state_of(detail::SendLane* lane) noexcept { return static_cast<SendState*>(lane); }

}  // namespace

SendState* ShmPort::lane_for(const Outgoing& outgoing, bool exclusive, SendResult& refusal) noexcept {
  std::uint32_t column = DevicePath::kFirstColumn;
  if (!exclusive && outgoing.traffic == TrafficClass::data && !outgoing.in_order) {
    static_cast<void>(concurrent::thread_number());  // gives the thread its column
    column = detail::thread_column;
  }
  detail::SendLane* lane = path_for(outgoing.traffic).lane(outgoing.peer, outgoing.device, column);
  if (lane != nullptr) [[likely]]
    return state_of(lane);
  return set_up_lane(outgoing, column, refusal);
}

/// The lane of a column that has none yet: that of another column of the same stripe, or a new one; where
/// there is no room for more, any that leads there.
SendState* ShmPort::set_up_lane(const Outgoing& outgoing, std::uint32_t column, SendResult& refusal) noexcept
    try {
  const std::unique_lock lock(setup_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    refusal = SendResult::lock_contended;
    return nullptr;
  }
  DevicePath& path = path_for(outgoing.traffic);
  if (detail::SendLane* lane = path.lane(outgoing.peer, outgoing.device, column)) return state_of(lane);
  auto& row = rows_[static_cast<std::size_t>(outgoing.traffic) * DevicePath::kMaxDevices + outgoing.device];
  if (row == nullptr) {
    row = std::make_unique<DevicePath::LaneRow[]>(
        DevicePath::row_size(static_cast<std::size_t>(shared_.peers->size())));
    // Pairs with the acquire in DevicePath::lane().
    path.rows[outgoing.device].store(row.get(), std::memory_order_release);
  }
  const std::uint32_t stripe = column % shared_.thread_lanes;
  detail::SendLane* lane = path.lane(outgoing.peer, outgoing.device, stripe);
  if (lane == nullptr) lane = make_lane(outgoing, stripe, refusal);
  if (lane == nullptr && refusal == SendResult::no_slot)
    for (std::uint32_t other = 0; lane == nullptr && other < DevicePath::kNoColumn; ++other)
      lane = path.lane(outgoing.peer, outgoing.device, other);
  if (lane == nullptr) return nullptr;
  // Pairs with the acquire in DevicePath::lane().
  row[DevicePath::place(outgoing.peer, stripe)].store(lane, std::memory_order_release);
  row[DevicePath::place(outgoing.peer, column)].store(lane, std::memory_order_release);
  if (!state_of(lane)->is_paired.load(std::memory_order_relaxed)) pair(*state_of(lane), outgoing);
  return state_of(lane);
} catch (const std::bad_alloc&) {
  refusal = SendResult::no_slot;
  return nullptr;
}

/// Under setup_mutex_. nullptr: see `refusal`.
SendState* ShmPort::make_lane(const Outgoing& outgoing, std::uint32_t stripe, SendResult& refusal) {
  const Peer* peer = shared_.peers->contact(outgoing.peer);
  if (peer == nullptr || outgoing.device >= peer->mapping->header().devices_max) {
    refusal = shared_.peers->departed(outgoing.peer) ? SendResult::peer_gone : SendResult::not_ready;
    return nullptr;
  }
  if (peer->gone()) {
    refusal = SendResult::peer_gone;
    return nullptr;
  }
  DeviceArea& area = peer->mapping->device(outgoing.device);
  // Pairs with the release of the peer's opening of the device.
  if (area.presence.load(std::memory_order_acquire) != Presence::open) {
    refusal = SendResult::not_ready;
    return nullptr;
  }
  auto state = std::make_unique<SendState>();
  state->ring =
      shared_.segment->allocate_ring(outgoing.traffic == TrafficClass::data ? shared_.lane_slots : kFewSlots);
  refusal = SendResult::no_slot;
  if (state->ring.offset == 0) return nullptr;
  state->peer = peer;
  state->area = &area;
  state->traffic = outgoing.traffic;
  state->stripe = stripe;
  detail::SendLane& lane = *state;
  lane.slots = shared_.segment->slots(state->ring);
  lane.mask = state->ring.slots - 1;
  lane.move_to(0, lane.mask);
  lane.control = &shared_.segment->control(state->ring);
  lane.control->cold.store(1, std::memory_order_relaxed);
  lane.open_handles = peer->mapping->open_handles();
  send_states_.reserve(send_states_.size() + 1);
  if (!announce(*state, area)) {
    lane.control->released.store(1, std::memory_order_relaxed);
    shared_.segment->retire_ring(state->ring);
    return nullptr;
  }
  shared_.log.debug([&] {
    constexpr const char* kNames[kTrafficClasses] = {"a", "a control", "an urgent", "a bulk", "a chunk"};
    return std::string(kNames[static_cast<std::size_t>(outgoing.traffic)]) + " lane to device " +
           std::to_string(outgoing.device) + " of rank " + std::to_string(outgoing.peer) + ", " +
           std::to_string(lane.mask + 1) + " slots";
  });
  send_states_.push_back(std::move(state));
  return send_states_.back().get();
}

bool ShmPort::announce(SendState& state, DeviceArea& area) noexcept {
  for (std::uint32_t index = 0; index < shared_.lanes_max; ++index) {
    Announcement& entry = area.announcements[index];
    auto expected = Announcement::State::free;
    if (!entry.state.compare_exchange_strong(expected, Announcement::State::claimed,
                                             std::memory_order_acquire))
      continue;
    entry.rank = shared_.segment->mapping().header().rank;
    entry.ring_offset = state.ring.offset;
    entry.slots = state.ring.slots;
    entry.traffic = static_cast<std::uint16_t>(state.traffic);
    entry.stripe = static_cast<std::uint16_t>(state.stripe);
    entry.device = path_.own_device;
    entry.shuttle.store(0, std::memory_order_relaxed);
    state.index = index;
    std::uint32_t high = area.lanes_high.load(std::memory_order_relaxed);
    while (high < index + 1 && !area.lanes_high.compare_exchange_weak(high, index + 1)) {
    }
    // Pairs with the acquire in attach().
    entry.state.store(Announcement::State::ready, std::memory_order_release);
    return true;
  }
  return false;
}

bool ShmPort::attach(std::uint32_t index) noexcept try {
  Announcement& entry = area_->announcements[index];
  // Pairs with the release in announce().
  if (entry.state.load(std::memory_order_acquire) != Announcement::State::ready) return true;
  const std::int32_t rank = entry.rank;
  const Segment::Ring ring{entry.ring_offset, entry.slots};
  if (rank < 0 || rank >= shared_.peers->size()) return true;
  const Peer* peer = shared_.peers->contact(rank);
  if (peer == nullptr && !shared_.peers->departed(rank)) return false;
  if (peer == nullptr) {
    // It left before anything of it was read here: what it had sent went with its segment.
    entry.state.store(Announcement::State::free, std::memory_order_release);
    return true;
  }
  if (!std::has_single_bit(ring.slots) || ring.offset % 64 != 0 ||
      !peer->mapping->contains(ring.offset, ring_bytes(ring.slots)))
    return true;
  auto lane = std::make_unique<ReceiveLane>();
  lane->control = reinterpret_cast<detail::LaneControl*>(peer->mapping->base() + ring.offset);
  lane->slots = reinterpret_cast<Slot*>(lane->control + 1);
  lane->mask = ring.slots - 1;
  lane->index = index;
  lane->peer = peer;
  lane->packets = (*shared_.peer_packets)[static_cast<std::size_t>(rank)].get();
  lane->packets->set_peer(*peer);
  // A device that was closed and is opened again goes on where it stopped.
  lane->head = lane->control->credit.load(std::memory_order_relaxed);
  lane->credit_at = lane->head + lane->mask / 4;
  lane->other = lane->head;
  if (const ReceiveLane* before = lanes_[index].load(std::memory_order_relaxed); before != nullptr) {
    lane->earlier = before->earlier + before->head;
    lane->other += before->other;
    lane->bytes = before->bytes;
  }
  lane->next.store(&lane->slots[lane->head & lane->mask], std::memory_order_relaxed);
  const std::uint32_t named = entry.traffic;
  // What a peer calls by no name is as usual as it was before it wrote that.
  const TrafficClass traffic =
      named < kTrafficClasses ? static_cast<TrafficClass>(named) : TrafficClass::data;
  set_traffic(index, traffic);
  set_columns(index, traffic, entry.stripe);
  lane->is_data = traffic == TrafficClass::data && entry.device < DevicePath::kMaxDevices;
  lane->device = entry.device;
  lane->stripe = entry.stripe;
  if (lane->is_data && entry.shuttle.load(std::memory_order_relaxed) != 0)
    peer->rank < shared_.segment->mapping().header().rank ? resume_shuttle(*lane) : accept_shuttle(*lane);
  shared_.log.debug([&] {
    return "lane " + std::to_string(index) + " comes from rank " + std::to_string(rank) + ", " +
           std::to_string(ring.slots) + " slots";
  });
  receive_lanes_.push_back(std::move(lane));
  // Pairs with the acquire in poll().
  lanes_[index].store(receive_lanes_.back().get(), std::memory_order_release);
  if (!has_stripes_.load(std::memory_order_relaxed)) pair(*receive_lanes_.back());
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

/// Under temperature_lock_, before the lane is hot. A poll that still has what a former lane was looks at
/// this one in another turn, once.
void ShmPort::set_traffic(std::uint32_t index, TrafficClass traffic) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (index % 64);
  const auto put = [&](LaneSet& set, bool is_in) {
    if (is_in)
      set[index / 64].fetch_or(bit, std::memory_order_relaxed);
    else
      set[index / 64].fetch_and(~bit, std::memory_order_relaxed);
  };
  const Urgency urgency = urgency_of(traffic);
  put(protocol_, traffic == TrafficClass::control || traffic == TrafficClass::chunks);
  put(urgent_, urgency == Urgency::first);
  put(bulk_, urgency == Urgency::last);
  if (urgency != Urgency::usual) has_classes_.store(true, std::memory_order_relaxed);
}

/// Which threads look at the lane first. Under temperature_lock_, before the lane is hot.
void ShmPort::set_columns(std::uint32_t index, TrafficClass traffic, std::uint32_t stripe) noexcept {
  if (traffic == TrafficClass::data) {
    set_owners(index, stripe);
    stripes_ |= 1U << stripe % shared_.thread_lanes;
    if (!std::has_single_bit(stripes_)) has_stripes_.store(true, std::memory_order_relaxed);
    return;
  }
  // What is not data is for whoever comes first.
  for (Column& column : columns_)
    column.own[index / 64].fetch_or(std::uint64_t{1} << (index % 64), std::memory_order_relaxed);
}

/// They are those that send by lanes of this stripe. Polls may go on with what was before.
void ShmPort::set_owners(std::uint32_t index, std::uint32_t stripe) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (index % 64);
  for (std::uint32_t column = 0; column < columns_.size(); ++column) {
    std::atomic<std::uint64_t>& own = columns_[column].own[index / 64];
    if (column % shared_.thread_lanes == stripe % shared_.thread_lanes)
      own.fetch_or(bit, std::memory_order_relaxed);
    else
      own.fetch_and(~bit, std::memory_order_relaxed);
  }
}

bool ShmPort::consumed(const SendState& state) const noexcept {
  if (!has_read_shuttle(state)) return false;
  const detail::SendLane& lane = state;
  if (lane.tail() == 0) return true;
  // Cleared by its receiver after use.
  return state.last().header.load(std::memory_order_acquire) == 0;
}

std::uint64_t ShmPort::waiting(const SendState& state) noexcept {
  const std::uint64_t credit = state.control->credit.load(std::memory_order_acquire);
  const std::uint64_t tail = state.tail();
  return tail > credit ? tail - credit : 1;
}

bool ShmPort::drained() noexcept {
  const std::lock_guard lock(setup_mutex_);
  for (const auto& state : send_states_)
    if (!state->peer->gone() && !consumed(*state)) return false;
  return true;
}

std::string ShmPort::undelivered() {
  const std::lock_guard lock(setup_mutex_);
  std::map<int, std::uint64_t> by_rank;
  for (const auto& state : send_states_)
    if (!state->peer->gone() && !consumed(*state)) by_rank[state->peer->rank] += waiting(*state);
  std::string text;
  for (const auto& [rank, slots] : by_rank)
    text += (text.empty() ? "" : ", ") + std::string("up to ") + std::to_string(slots) +
            " messages to rank " + std::to_string(rank);
  return text;
}

}  // namespace weft::network::shm
