#include "network/shm/port/send_lanes.hpp"

#include "concurrent/thread_number.hpp"
#include "network/shm/lane/lane_counters.hpp"
#include "network/shm/port/rank_lanes.hpp"
#include "network/shm/segment/peers.hpp"

#include <new>

namespace weft::network::shm {

using detail::DevicePath;

namespace {

SendState* state_of(detail::SendLane* lane) noexcept { return static_cast<SendState*>(lane); }

}  // namespace

SendLanes::SendLanes(const Shared& shared, DevicePath& path, ReplySlots& reply_slots)
    : shared_(shared),
      path_(path),
      reply_slots_(reply_slots),
      no_lanes_(std::make_unique<LaneRow[]>(row_size())) {
  for (std::size_t traffic = 0; traffic < kTrafficClasses; ++traffic) {
    DevicePath& each = path_for(static_cast<TrafficClass>(traffic));
    each.ranks = static_cast<std::uint32_t>(shared_.peers->size());
    for (auto& row : each.rows) row.store(no_lanes_.get(), std::memory_order_relaxed);
  }
}

std::size_t SendLanes::row_size() const noexcept {
  return DevicePath::row_size(static_cast<std::size_t>(shared_.peers->size()));
}

SendState* SendLanes::lane_for(const Outgoing& outgoing, SendResult& refusal) noexcept {
  std::uint32_t column = DevicePath::kFirstColumn;
  if (!is_exclusive() && outgoing.traffic == TrafficClass::data && !outgoing.in_order) {
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
SendState* SendLanes::set_up_lane(const Outgoing& outgoing, std::uint32_t column,
                                  SendResult& refusal) noexcept try {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    refusal = SendResult::lock_contended;
    return nullptr;
  }
  DevicePath& path = path_for(outgoing.traffic);
  if (detail::SendLane* lane = path.lane(outgoing.peer, outgoing.device, column)) return state_of(lane);
  auto& row = rows_[static_cast<std::size_t>(outgoing.traffic) * DevicePath::kMaxDevices + outgoing.device];
  if (row == nullptr) {
    row = std::make_unique<LaneRow[]>(row_size());
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
  row[DevicePath::index_of(outgoing.peer, stripe)].store(lane, std::memory_order_release);
  row[DevicePath::index_of(outgoing.peer, column)].store(lane, std::memory_order_release);
  if (!state_of(lane)->is_paired.load(std::memory_order_relaxed))
    reply_slots_.pair(*state_of(lane), outgoing);
  return state_of(lane);
} catch (const std::bad_alloc&) {
  refusal = SendResult::no_slot;
  return nullptr;
}

/// Makes a lane. Returns nullptr, with `refusal` set, when there is none. Under mutex_.
SendState* SendLanes::make_lane(const Outgoing& outgoing, std::uint32_t stripe, SendResult& refusal) {
  const Peer* peer = shared_.peers->contact(outgoing.peer);
  if (peer == nullptr || outgoing.device >= peer->mapping->header().devices_max) {
    refusal = shared_.peers->departed(outgoing.peer) ? SendResult::peer_left : SendResult::not_ready;
    return nullptr;
  }
  if (peer->has_left()) {
    refusal = SendResult::peer_left;
    return nullptr;
  }
  states_.reserve(states_.size() + 1);
  bool is_full = false;
  auto state = open_lane(shared_, {peer, outgoing.device, outgoing.traffic, stripe, path_.own_device},
                         refusal, is_full);
  if (state == nullptr) return nullptr;
  states_.push_back(std::move(state));
  return states_.back().get();
}

/// Closes the lanes in a forked child: its inlined posts find no lane, and those that still use one find no
/// slot, so that they take the slow path, which returns the error. Reads only what other threads publish with
/// single stores.
void SendLanes::close_in_forked_child() noexcept {
  for (std::size_t traffic = 0; traffic < kTrafficClasses; ++traffic) {
    DevicePath& path = path_for(static_cast<TrafficClass>(traffic));
    for (auto& row : path.rows) {
      const LaneRow* const lanes = row.load(std::memory_order_acquire);
      if (lanes == no_lanes_.get()) continue;
      for (std::size_t entry = 0; entry < row_size(); ++entry) {
        detail::SendLane* const lane = lanes[entry].load(std::memory_order_acquire);
        if (lane == nullptr) continue;
        lane->set_limit(lane->tail());
        lane->reply_slot.store(nullptr, std::memory_order_relaxed);
        lane->credits = 0;
        lane->control = &no_credit;
      }
      row.store(no_lanes_.get(), std::memory_order_relaxed);
    }
  }
}

bool SendLanes::give_up(int peer) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  for (const auto& state : states_)
    if (state->peer->rank == peer && !give_up_lane(shared_, *state, is_exclusive())) return false;
  return true;
}

bool SendLanes::drained() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  for (const auto& state : states_)
    if (!state->peer->has_left() && is_awaited(shared_, *state)) return false;
  return !shares_lanes_.load(std::memory_order_relaxed) || shared_.rank_lanes->drained();
}

void SendLanes::add_unconsumed(std::map<int, Port::Unconsumed>& by_rank) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& state : states_) shm::add_unconsumed(shared_, *state, by_rank);
  }
  if (shares_lanes_.load(std::memory_order_relaxed)) shared_.rank_lanes->add_unconsumed(by_rank);
}

void SendLanes::add_traffic(Port::Traffic& traffic) noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& state : states_) add_sent(*state, traffic);
  traffic.lanes = states_.size();
  traffic.lanes_grown = grown_.load(std::memory_order_relaxed);
}

void SendLanes::keep_unread() noexcept {
  for (const auto& state : states_) keep_if_unread(shared_, *state);
}

void SendLanes::close() noexcept {
  for (const auto& state : states_) close_lane(shared_, *state);
}

}  // namespace weft::network::shm
