// Set-up, end and accounting of lanes.
#include "network/shm/port/port.hpp"
#include "network/shm/port/rank_lanes.hpp"

#include "concurrent/thread_number.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <new>

namespace weft::network::shm {

using detail::DevicePath;
using detail::Slot;

Capabilities capabilities_of(const Shared& shared) noexcept {
  Capabilities capabilities;
  // A message, and the rest of the lap that it skips, must fit beside the slots for which the receiver has
  // not returned credit yet.
  capabilities.inline_bytes =
      std::min(shared.inline_max, detail::kSlotPayload + sizeof(Slot) * (shared.lane_slots / 4 - 1));
  capabilities.can_read = true;
  capabilities.keeps_order = true;
  return capabilities;
}

ShmPort::ShmPort(const Shared& shared, std::uint32_t index, DevicePath& path, detail::PayloadLender& copier)
    : shared_(shared), path_(path), copier_(copier), lanes_(shared_, index) {
  no_lanes_ = std::make_unique<DevicePath::LaneRow[]>(
      DevicePath::row_size(static_cast<std::size_t>(shared_.peers->size())));
  for (std::size_t traffic = 0; traffic < kTrafficClasses; ++traffic) {
    DevicePath& each = path_for(static_cast<TrafficClass>(traffic));
    each.ranks = static_cast<std::uint32_t>(shared_.peers->size());
    for (auto& row : each.rows) row.store(no_lanes_.get(), std::memory_order_relaxed);
  }
  capabilities_ = capabilities_of(shared_);
  // Lanes to an earlier device of this index stay in use: poll all of them.
  const std::uint32_t high = lanes_.announced();
  for (std::uint32_t lane = 0; lane < high; ++lane)
    if (lanes_.area().announcement(lane).state.load(std::memory_order_acquire) == Announcement::State::ready)
      lanes_.area().doorbells[lane / 64].fetch_or(std::uint64_t{1} << (lane % 64), std::memory_order_relaxed);
  // Pairs with the acquire in set_up_lane() of peers.
  lanes_.area().presence.store(Presence::open, std::memory_order_release);
}

ShmPort::~ShmPort() {
  for (const auto& state : send_states_) keep_if_unread(shared_, *state);
  lanes_.area().presence.store(Presence::closed, std::memory_order_release);
  lanes_.close();
  for (const auto& state : send_states_) close_lane(shared_, *state);
}

namespace {

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
  if (shares_lanes_.load(std::memory_order_relaxed))
    if (SendState* const state = shared_.rank_lanes->find(outgoing)) return state;
  return set_up_lane(outgoing, column, refusal);
}

/// Finds the lane of a column that has none yet: the lane of another column of the same stripe, or a new one.
/// When there is no room for more lanes: any lane that leads there, or else the lane that the devices of this
/// rank share.
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
  if (lane == nullptr && refusal == SendResult::no_slot) {
    SendState* const state =
        shared_.rank_lanes->open(outgoing, *shared_.peers->contact(outgoing.peer), refusal);
    // The port uses the shared lane from now on, so that messages between two devices arrive in order.
    if (state != nullptr) shares_lanes_.store(true, std::memory_order_relaxed);
    return state;
  }
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

/// Makes a lane. Returns nullptr, with `refusal` set, when there is none. Under setup_mutex_.
SendState* ShmPort::make_lane(const Outgoing& outgoing, std::uint32_t stripe, SendResult& refusal) {
  const Peer* peer = shared_.peers->contact(outgoing.peer);
  if (peer == nullptr || outgoing.device >= peer->mapping->header().devices_max) {
    refusal = shared_.peers->departed(outgoing.peer) ? SendResult::peer_left : SendResult::not_ready;
    return nullptr;
  }
  if (peer->has_left()) {
    refusal = SendResult::peer_left;
    return nullptr;
  }
  send_states_.reserve(send_states_.size() + 1);
  bool is_full = false;
  auto state = open_lane(shared_, {peer, outgoing.device, outgoing.traffic, stripe, path_.own_device},
                         refusal, is_full);
  if (state == nullptr) return nullptr;
  send_states_.push_back(std::move(state));
  return send_states_.back().get();
}

bool ShmPort::attach(std::uint32_t index) noexcept try {
  if (index >= lanes_.capacity()) return true;
  ReceiveLane* lane = lanes_.find(index);
  // The thread that has found the lane's end may not have left the lane yet.
  if (lane != nullptr && !lane->lock.is_shut()) return false;
  Announcement& entry = lanes_.area().announcement(index);
  // Pairs with the release in announce().
  if (entry.state.load(std::memory_order_acquire) != Announcement::State::ready) return true;
  const std::int32_t rank = entry.rank;
  const Segment::Ring ring{entry.ring_offset, entry.slots};
  if (rank < 0 || rank >= shared_.peers->size()) return true;
  const Peer* peer = shared_.peers->contact(rank);
  if (peer == nullptr && !shared_.peers->departed(rank)) {
    // Never happens in practice: ranks of one host reach each other both ways or not at all.
    using enum Network::Reach;
    const Network::Reach reach = shared_.peers->reach(rank);
    if (reach == remote || reach == unreachable) shared_.peers->refuse_messages_of(rank);
    return false;
  }
  if (peer == nullptr) {
    // The peer left before this rank read anything from it: its messages went with its segment.
    end_announcement(lanes_.area(), index, Announcement::State::free);
    return true;
  }
  if (!std::has_single_bit(ring.slots) || ring.offset % 64 != 0 ||
      !peer->mapping->contains(ring.offset, ring_bytes(ring.slots)))
    return true;
  const bool is_new = lane == nullptr;
  if (is_new)
    lane = &lanes_.make(index);
  else
    lane->reset();
  lane->peer = peer;
  lane->packets = (*shared_.peer_packets)[static_cast<std::size_t>(rank)].get();
  lane->packets->set_peer(*peer);
  auto* const control = reinterpret_cast<detail::LaneControl*>(peer->mapping->base() + ring.offset);
  // A device that was closed and opened again continues at the position where it stopped.
  lane->ring.move_to(control, ring.slots, control->credit.load(std::memory_order_relaxed));
  lane->counts.other += lane->ring.head;
  lane->next.store(&lane->ring.at_head(), std::memory_order_relaxed);
  const std::uint32_t named = entry.traffic;
  // An unknown traffic class written by a peer is treated as data.
  const TrafficClass traffic =
      named < kTrafficClasses ? static_cast<TrafficClass>(named) : TrafficClass::data;
  lanes_.classify(index, traffic, entry.stripe);
  lane->is_data = traffic == TrafficClass::data && entry.device < DevicePath::kMaxDevices;
  lane->device = entry.device;
  lane->stripe = entry.stripe;
  if (lane->is_data && entry.reply_slot.load(std::memory_order_relaxed) != 0)
    peer->rank < shared_.segment->mapping().header().rank ? resume_reply_slot(*lane)
                                                          : accept_reply_slot(*lane);
  shared_.log.debug([&] {
    return "lane " + std::to_string(index) + " comes from rank " + std::to_string(rank) + ", " +
           std::to_string(ring.slots) + " slots";
  });
  // Pairs with the acquires of polls, as does reopen().
  if (is_new)
    lanes_.publish(*lane);
  else
    lane->lock.reopen();
  if (!lanes_.has_stripes()) pair(*lane);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

bool ShmPort::drained() noexcept {
  const std::unique_lock lock(setup_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  for (const auto& state : send_states_)
    if (!state->peer->has_left() && is_awaited(shared_, *state)) return false;
  return !shares_lanes_.load(std::memory_order_relaxed) || shared_.rank_lanes->drained();
}

std::string ShmPort::undelivered() {
  std::string text;
  for (const Unconsumed& each : unconsumed())
    if (!each.has_left)
      text += (text.empty() ? "" : ", ") + std::string("up to ") + std::to_string(each.messages) +
              " messages to rank " + std::to_string(each.peer);
  return text;
}

std::vector<Port::Unconsumed> ShmPort::unconsumed() {
  std::map<int, Unconsumed> by_rank;
  {
    const std::lock_guard lock(setup_mutex_);
    for (const auto& state : send_states_) add_unconsumed(shared_, *state, by_rank);
  }
  if (shares_lanes_.load(std::memory_order_relaxed)) shared_.rank_lanes->add_unconsumed(by_rank);
  std::vector<Unconsumed> all;
  for (const auto& [rank, of_rank] : by_rank) all.push_back(of_rank);
  return all;
}

}  // namespace weft::network::shm
