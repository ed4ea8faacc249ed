// Reclaims the resources of a peer that has failed or has left the job.
#include "network/shm/port/port.hpp"
#include "network/shm/port/rank_lanes.hpp"

#include "concurrent/thread_number.hpp"

namespace weft::network::shm {

bool ShmPort::reclaim(int peer, bool exclusive) noexcept {
  const Peer* const known = shared_.peers->known(peer);
  // Nothing was ever sent to a peer without a contact, and none will be once it has departed.
  const bool is_stranger = known == nullptr && shared_.peers->departed(peer);
  if (!is_stranger && !(give_up_lanes(peer, exclusive) && shared_.rank_lanes->give_up(peer))) return false;
  // With the lanes given up, no thread sends a packet to the peer any more.
  if (known != nullptr && known->had_packets.load(std::memory_order_relaxed) &&
      !shared_.packet_returns->release_of(peer))
    return false;
  return empty_lanes(peer, exclusive);
}

/// Closes the lanes in a forked child: its inlined posts find no lane, and those that still use one find no
/// slot, so that they take the slow path, which returns the error. Reads only what other threads publish with
/// single stores.
void ShmPort::close_in_forked_child() noexcept {
  for (std::size_t traffic = 0; traffic < kTrafficClasses; ++traffic) {
    detail::DevicePath& path = path_for(static_cast<TrafficClass>(traffic));
    for (auto& row : path.rows) {
      const detail::DevicePath::LaneRow* const lanes = row.load(std::memory_order_acquire);
      if (lanes == no_lanes_.get()) continue;
      for (std::size_t place = 0; place < detail::DevicePath::row_size(path.ranks); ++place) {
        detail::SendLane* const lane = lanes[place].load(std::memory_order_acquire);
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

/// Gives up the lanes to the peer and releases their rings. Returns false when a thread is sending in one of
/// them.
bool ShmPort::give_up_lanes(int peer, bool exclusive) noexcept {
  const std::unique_lock lock(setup_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  for (const auto& state : send_states_)
    if (state->peer->rank == peer && !give_up_lane(shared_, *state, exclusive)) return false;
  return true;
}

/// Detaches the lanes from the peer; lanes with messages are detached once the messages have been delivered.
/// Returns true when all are detached.
bool ShmPort::empty_lanes(int peer, bool exclusive) noexcept {
  if (!exclusive && !detail::TryLock::acquire(temperature_lock_)) return false;
  bool are_empty = true;
  const std::uint32_t high = lanes_.announced();
  for (std::uint32_t index = 0; index < high; ++index) {
    Announcement& entry = lanes_.area().announcement(index);
    // Pairs with the release in announce().
    if (entry.state.load(std::memory_order_acquire) != Announcement::State::ready || entry.rank != peer)
      continue;
    ReceiveLane* lane = lanes_.find(index);
    if (lane == nullptr || lane->lock.closed()) {
      if (!attach(index)) {
        are_empty = false;
        continue;
      }
      lane = lanes_.find(index);
      if (lane == nullptr || lane->lock.closed()) {
        // The lane's owner is not known any more, or the announcement is invalid.
        end_announcement(lanes_.area(), index, Announcement::State::free);
        continue;
      }
    }
    if (!lane->lock.enter(concurrent::thread_number())) {
      are_empty = false;
      continue;
    }
    if (lane->ring.at_head().header.load(std::memory_order_acquire) == 0 && !lane->reply.has_message()) {
      lanes_.detach(*lane, Announcement::State::free);
    } else {
      // The peer may have died between filling the slot of a cold lane and ringing.
      lanes_.heat(index);
      lane->ring.control->cold.store(0, std::memory_order_relaxed);
      are_empty = false;
    }
    lane->lock.leave();
  }
  if (!exclusive) detail::TryLock::release(temperature_lock_);
  return are_empty;
}

}  // namespace weft::network::shm
