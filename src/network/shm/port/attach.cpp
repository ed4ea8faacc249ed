// Begin and end of the lanes that lead to a device: what peers have announced, and what is left of a peer.
#include "network/shm/port/doorbell.hpp"

#include "concurrent/thread_number.hpp"
#include "network/shm/segment/peers.hpp"
#include "network/shm/segment/segment.hpp"

#include <bit>
#include <new>
#include <string>

namespace weft::network::shm {

using detail::DevicePath;

ReceiveLane* Doorbell::open_lane_at(std::uint32_t index) const noexcept {
  ReceiveLane* const lane = lanes_.find(index);
  return lane != nullptr && !lane->lock.closed() ? lane : nullptr;
}

/// Takes up what has been announced at this index. Returns false when that must be tried again. Under
/// hot_set_lock_.
bool Doorbell::attach(std::uint32_t index) noexcept try {
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
    peer->rank < shared_.segment->mapping().header().rank ? reply_slots_.resume(*lane)
                                                          : reply_slots_.accept(*lane);
  shared_.log.debug([&] {
    return "lane " + std::to_string(index) + " comes from rank " + std::to_string(rank) + ", " +
           std::to_string(ring.slots) + " slots";
  });
  // Pairs with the acquires of polls, as does reopen().
  if (is_new)
    lanes_.publish(*lane);
  else
    lane->lock.reopen();
  if (!lanes_.has_stripes()) reply_slots_.pair(*lane);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

bool Doorbell::detach_lanes_of(int peer) noexcept {
  if (!detail::TryLock::acquire(hot_set_lock_)) return false;
  bool are_empty = true;
  const std::uint32_t high = lanes_.announced();
  for (std::uint32_t index = 0; index < high; ++index) {
    Announcement& entry = lanes_.area().announcement(index);
    // Pairs with the release in announce().
    if (entry.state.load(std::memory_order_acquire) != Announcement::State::ready || entry.rank != peer)
      continue;
    ReceiveLane* lane = open_lane_at(index);
    if (lane == nullptr) {
      if (!attach(index)) {
        are_empty = false;
        continue;
      }
      lane = open_lane_at(index);
      if (lane == nullptr) {
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
  detail::TryLock::release(hot_set_lock_);
  return are_empty;
}

}  // namespace weft::network::shm
