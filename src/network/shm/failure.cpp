// What is left of a peer whose process has ended.
#include "network/shm/port.hpp"

#include "concurrent/thread_number.hpp"

#include <bit>
#include <string>

namespace weft::network::shm {

namespace {

/// Of lanes that have been given up: says that everything has been read that will ever be written, which no
/// lane believes, so that posts find no slot.
constinit detail::LaneControl no_credit{~std::uint64_t{0}, 0, 0, 1};

}  // namespace

bool ShmPort::bury(int peer, bool exclusive) noexcept {
  return give_up_lanes(peer, exclusive) && shared_.packet_returns->give_back_of(peer) &&
         empty_lanes(peer, exclusive);
}

/// Closes the lanes to the peer and gives their rings back. False: a thread is sending in one.
bool ShmPort::give_up_lanes(int peer, bool exclusive) noexcept {
  const std::unique_lock lock(setup_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  for (const auto& state : send_states_) {
    if (state->peer->rank != peer || state->is_given_up) continue;
    detail::SendLane& lane = *state;
    auto* const hold = detail::enter(lane.bias, lane.lock, exclusive);
    if (hold == nullptr) return false;
    state->is_given_up = true;
    shared_.log.debug(
        [&] { return "a lane to rank " + std::to_string(peer) + ", which has failed, is given up"; });
    lane.set_limit(lane.tail());  // inlined posts take the slow way, which finds out
    lane.shuttle.store(nullptr, std::memory_order_relaxed);
    lane.credits = 0;
    lane.control->released.store(1, std::memory_order_release);
    shared_.segment->retire_ring(state->ring);
    lane.control = &no_credit;  // another lane may get the ring
    detail::leave(hold, exclusive);
  }
  return true;
}

/// Detaches the lanes of the peer, those that still hold messages once they have been delivered.
bool ShmPort::empty_lanes(int peer, bool exclusive) noexcept {
  if (!exclusive && !detail::TryLock::acquire(temperature_lock_)) return false;
  bool are_empty = true;
  const std::uint32_t high = area_->lanes_high.load(std::memory_order_acquire);
  for (std::uint32_t index = 0; index < high && index < kMaxLanes; ++index) {
    Announcement& entry = area_->announcements[index];
    // Pairs with the release in announce().
    if (entry.state.load(std::memory_order_acquire) != Announcement::State::ready || entry.rank != peer)
      continue;
    ReceiveLane* lane = lanes_[index].load(std::memory_order_relaxed);
    if (lane == nullptr || lane->entrance.closed()) {
      if (!attach(index)) {
        are_empty = false;
        continue;
      }
      lane = lanes_[index].load(std::memory_order_relaxed);
      if (lane == nullptr || lane->entrance.closed()) {
        // It is not known any more what it was, or it is impossible.
        entry.state.store(Announcement::State::free, std::memory_order_release);
        continue;
      }
    }
    if (!lane->entrance.enter(concurrent::thread_number())) {
      are_empty = false;
      continue;
    }
    if (lane->slots[lane->head & lane->mask].header.load(std::memory_order_acquire) == 0 &&
        !has_shuttle_message(*lane)) {
      detach(*lane, Announcement::State::free);
    } else {
      // The peer may have died between filling the slot of a cold lane and ringing.
      hot_[index / 64].fetch_or(std::uint64_t{1} << (index % 64), std::memory_order_relaxed);
      lane->control->cold.store(0, std::memory_order_relaxed);
      are_empty = false;
    }
    lane->entrance.leave();
  }
  if (!exclusive) detail::TryLock::release(temperature_lock_);
  return are_empty;
}

}  // namespace weft::network::shm
