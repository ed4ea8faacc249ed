#include "network/sim/members.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <string>

namespace weft::network::sim {

Members::Members(Schedule& schedule, int ranks) : schedule_(schedule), all_(static_cast<std::size_t>(ranks)) {
  for (Member& each : all_) each.slow = schedule.parameters().slow;
}

void Members::check(int rank, const char* what) const {
  if (rank >= 0 && rank < size()) return;
  throw Error(ErrorClass::network, std::string("sim: ") + what + " rank " + std::to_string(rank) +
                                       ": the job has ranks 0 to " + std::to_string(size() - 1));
}

Mailbox& Members::mailbox(DeviceAddress address) {
  auto& box = at(address.rank).mailboxes[address.device];
  if (box == nullptr) box = std::make_unique<Mailbox>();
  return *box;
}

bool Members::has_left(int observer, int peer) const noexcept {
  const Member& other = at(peer);
  return other.left || (other.killed && schedule_.now() >= other.gone_at) || at(observer).killed;
}

void Members::show_failures() noexcept {
  std::uint32_t seen = 0;
  std::uint32_t left = 0;
  next_failure_ = kNever;
  for (const Member& each : all_) {
    if (!each.killed) {
      if (each.left) ++left;
      continue;
    }
    if (schedule_.now() >= each.gone_at)
      ++seen;
    else
      next_failure_ = std::min(next_failure_, each.gone_at);
  }
  failures_.store(seen, std::memory_order_release);
  departures_.store(seen + left, std::memory_order_release);
}

bool Members::is_a_death_unseen() const noexcept {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Member& each) { return each.killed && schedule_.now() < each.gone_at; });
}

void Members::return_packet(int owner, std::uint32_t index) noexcept {
  insert_by_due(at(owner).returned, Member::Returned{schedule_.some_time_from(schedule_.now()), index});
  drop_unread_packets(at(owner));
}

std::size_t Members::reclaim_packets(int owner, std::span<std::uint32_t> indices) noexcept {
  std::vector<Member::Returned>& returned = at(owner).returned;
  std::size_t count = 0;
  while (count < indices.size() && count < returned.size() && returned[count].due <= schedule_.now()) {
    indices[count] = returned[count].index;
    ++count;
  }
  returned.erase(returned.begin(), returned.begin() + static_cast<std::ptrdiff_t>(count));
  at(owner).packets_away -= static_cast<std::uint32_t>(count);
  return count;
}

void Members::drop_unread_packets(Member& owner) noexcept {
  if (owner.left && owner.returned.size() == owner.packets_away) owner.packet_memory.reset();
}

void Members::note_lost(const Lane& lane, std::uint64_t messages) noexcept {
  if (lane.traffic != TrafficClass::control)
    at(lane.from.rank).lost[{lane.to.rank, lane.from.device}] += messages;
}

void Members::ring_all() noexcept {
  for (Member& each : all_)
    for (auto& [device, box] : each.mailboxes) box->ring();
}

}  // namespace weft::network::sim
