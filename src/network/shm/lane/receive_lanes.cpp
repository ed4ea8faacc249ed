#include "network/shm/lane/receive_lanes.hpp"

#include "concurrent/process_barrier.hpp"
#include "concurrent/thread_number.hpp"
#include "network/shm/segment/segment.hpp"

#include <algorithm>
#include <string>

namespace weft::network::shm {

ReceiveLanes::ReceiveLanes(const Shared& shared, std::uint32_t device) noexcept
    : shared_(shared),
      area_(&shared.segment->mapping().device(device)),
      capacity_(
          all_lanes(shared.segment->mapping().header().lanes, shared.segment->mapping().header().ranks)) {}

std::uint32_t ReceiveLanes::announced() const noexcept {
  return std::min(area_->lanes_high.load(std::memory_order_acquire), capacity_);
}

ReceiveLane& ReceiveLanes::make(std::uint32_t index) {
  owned_.push_back(std::make_unique<ReceiveLane>());
  owned_.back()->index = index;
  return *owned_.back();
}

void ReceiveLanes::put(Set& set, std::uint32_t index, bool is_in) noexcept {
  if (is_in)
    set[index / 64].fetch_or(bit_of(index), kRelaxed);
  else
    set[index / 64].fetch_and(~bit_of(index), kRelaxed);
}

void ReceiveLanes::classify(std::uint32_t index, TrafficClass traffic, std::uint32_t stripe) noexcept {
  const Urgency urgency = urgency_of(traffic);
  put(protocol_, index, traffic == TrafficClass::control || traffic == TrafficClass::rendezvous_data);
  put(urgent_, index, urgency == Urgency::first);
  put(bulk_, index, urgency == Urgency::last);
  if (urgency != Urgency::normal) has_classes_.store(true, kRelaxed);
  if (traffic != TrafficClass::data) {
    // Every thread polls lanes that are not for data.
    for (Set& own : own_) put(own, index, true);
    return;
  }
  set_owners(index, stripe);
  stripes_ |= 1U << stripe % shared_.thread_lanes;
  if (!std::has_single_bit(stripes_)) has_stripes_.store(true, kRelaxed);
}

void ReceiveLanes::set_owners(std::uint32_t index, std::uint32_t stripe) noexcept {
  for (std::uint32_t column = 0; column < kColumns; ++column)
    put(own_[column], index, column % shared_.thread_lanes == stripe % shared_.thread_lanes);
}

void ReceiveLanes::detach(ReceiveLane& lane, Announcement::State state) noexcept {
  shared_.log.debug([&] {
    return "lane " + std::to_string(lane.index) + ", from rank " + std::to_string(lane.peer->rank) + ", ends";
  });
  // Polls that still have the lane cannot enter it any more.
  lane.lock.close();
  cool(lane.index);
  // After a lane has ended in order, its sender does not write into the reply slot any more.
  if (state == Announcement::State::free) shared_.segment->release_reply_slot(lane.reply.own_offset);
  end_announcement(*area_, lane.index, state);
}

void ReceiveLanes::quiesce() const noexcept {
  concurrent::private_barrier();
  const std::uint32_t high = announced();
  for (std::uint32_t index = 0; index < high; ++index)
    if (const ReceiveLane* const lane = find(index); lane != nullptr)
      lane->lock.await_exit(concurrent::thread_number());
}

void ReceiveLanes::close() noexcept {
  for (const auto& lane : owned_) {
    if (lane->lock.closed()) continue;
    lane->ring.control->credit.store(lane->ring.head, std::memory_order_release);
    lane->ring.control->cold.store(1, std::memory_order_relaxed);
  }
}

}  // namespace weft::network::shm
