#include "network/sim/simulated_fabric.hpp"

#include <weft/error.hpp>

#include <algorithm>

namespace weft::network::sim {

SimulatedFabric::SimulatedFabric(const SimulationParameters& parameters, int ranks)
    : parameters_(parameters),
      random_(parameters.seed),
      schedule_hash_(parameters.seed),
      members_(static_cast<std::size_t>(ranks)) {
  for (Member& each : members_) each.slow = parameters.slow;
}

void SimulatedFabric::check_rank(int rank, const char* what) const {
  if (rank >= 0 && rank < size()) return;
  throw Error(std::string("sim: ") + what + " rank " + std::to_string(rank) + ": the job has ranks 0 to " +
              std::to_string(size() - 1));
}

void SimulatedFabric::join(int rank, const SimulationParameters& parameters,
                           const Network::PacketMemory& packets, std::shared_ptr<std::byte> memory) {
  const std::lock_guard lock(mutex_);
  if (!(parameters == parameters_))
    throw Error(
        "sim: rank " + std::to_string(rank) +
        " sets attributes sim_* to other values than the ranks before it: all ranks share one network");
  Member& joining = member(rank);
  if (joining.joined) throw Error("sim: rank " + std::to_string(rank) + " has joined this network already");
  joining.joined = true;
  joining.packets = packets;
  joining.packet_memory = std::move(memory);
}

void SimulatedFabric::leave(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  Member& leaving = member(rank);
  leaving.left = true;
  show_failures();
  leaving.regions.clear();
  std::erase_if(accesses_, [&](const Access& access) { return access.from.rank == rank; });
  for (Lane& each : lanes_)
    if (each.to.rank == rank) drop_flights(each);
  drop_unread_packets(leaving);
  ring_all();
}

/// The memory of a rank that has left goes when all that it had sent has come back: nobody reads it any more.
void SimulatedFabric::drop_unread_packets(Member& owner) noexcept {
  if (owner.left && owner.returned.size() == owner.packets_away) owner.packet_memory.reset();
}

void SimulatedFabric::drop_flights(Lane& way) noexcept {
  if (way.flights.empty()) return;
  note_lost(way, way.flights.size());
  for (const Flight& flight : way.flights) {
    if (flight.packet != kNoPacket) return_locked(way.from.rank, flight.packet);
    ++counts_.lost;
  }
  counts_.in_flight -= way.flights.size();
  way.flights.clear();
}

/// Counts messages to a rank that has left as lost. Messages of control are not lost: such a rank needs no
/// credit and no answer.
void SimulatedFabric::note_lost(const Lane& way, std::uint64_t messages) noexcept {
  if (way.traffic != TrafficClass::control)
    member(way.from.rank).lost[{way.to.rank, way.from.device}] += messages;
}

bool SimulatedFabric::has_left(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  return member(rank).left && !member(rank).killed;
}

void SimulatedFabric::publish_closing(int rank, Network::Closing how) noexcept {
  const std::lock_guard lock(mutex_);
  member(rank).closing = how;
}

Network::Closing SimulatedFabric::closing(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  return member(rank).closing;
}

Mailbox& SimulatedFabric::mailbox(Place place) {
  auto& box = member(place.rank).mailboxes[place.device];
  if (box == nullptr) box = std::make_unique<Mailbox>();
  return *box;
}

Mailbox& SimulatedFabric::open_device(Place place) {
  const std::lock_guard lock(mutex_);
  Mailbox& box = mailbox(place);
  box.open = true;
  return box;
}

void SimulatedFabric::close_device(Place place) noexcept {
  const std::lock_guard lock(mutex_);
  Mailbox& box = mailbox(place);
  box.open = false;
  box.ends.clear();
  std::erase_if(accesses_, [&](const Access& access) {
    return access.from.rank == place.rank && access.from.device == place.device;
  });
}

bool SimulatedFabric::has_left(int observer, int peer) noexcept {
  const std::lock_guard lock(mutex_);
  return has_left_locked(observer, peer);
}

bool SimulatedFabric::has_left_locked(int observer, int peer) noexcept {
  const Member& other = member(peer);
  return other.left || (other.killed && now_ >= other.gone_at) || member(observer).killed;
}

void SimulatedFabric::publish_handle(int rank, std::uint16_t id, std::uint16_t generation,
                                     HandleState state) noexcept {
  const std::lock_guard lock(mutex_);
  member(rank).handles.publish(id, generation, state, now_,
                               now_ + random_.below(std::uint64_t{parameters_.stale} + 1));
  ring_all();
}

void SimulatedFabric::return_packet(int owner, std::uint32_t index) noexcept {
  const std::lock_guard lock(mutex_);
  return_locked(owner, index);
}

void SimulatedFabric::return_locked(int owner, std::uint32_t index) noexcept {
  insert_by_due(member(owner).returned, Returned{some_time_from(now_), index});
  drop_unread_packets(member(owner));
}

std::uint32_t SimulatedFabric::packets_away(int owner) noexcept {
  const std::lock_guard lock(mutex_);
  return member(owner).packets_away;
}

std::size_t SimulatedFabric::reclaim_packets(int owner, std::span<std::uint32_t> indices) noexcept {
  const std::lock_guard lock(mutex_);
  std::vector<Returned>& returned = member(owner).returned;
  std::size_t count = 0;
  while (count < indices.size() && count < returned.size() && returned[count].due <= now_) {
    indices[count] = returned[count].index;
    ++count;
  }
  returned.erase(returned.begin(), returned.begin() + static_cast<std::ptrdiff_t>(count));
  member(owner).packets_away -= static_cast<std::uint32_t>(count);
  return count;
}

Tick SimulatedFabric::now() noexcept {
  const std::lock_guard lock(mutex_);
  return now_;
}

Counts SimulatedFabric::counts() noexcept {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::uint64_t SimulatedFabric::schedule_hash() noexcept {
  const std::lock_guard lock(mutex_);
  return schedule_hash_;
}

void SimulatedFabric::kill(int rank) {
  check_rank(rank, "cannot kill");
  const std::lock_guard lock(mutex_);
  Member& victim = member(rank);
  if (victim.dead()) return;
  victim.killed = true;
  victim.gone_at = now_ + parameters_.gone;
  note(Event::killed, static_cast<std::uint64_t>(rank), 0, 0);
  drop_traffic_of(rank);
  show_failures();
  ring_all();
}

void SimulatedFabric::drop_traffic_of(int rank) noexcept {
  for (Lane& each : lanes_) {
    if (each.from.rank == rank || each.to.rank == rank) drop_flights(each);
  }
  for (int other = 0; other < size(); ++other)
    for (const auto& [device, box] : member(other).mailboxes)
      std::erase_if(box->immediates, [&](const Mailbox::Immediate& immediate) {
        return other == rank || immediate.from == rank;
      });
  // Accesses that the dead rank has begun end for it at once; its peers' accesses end when they would have
  // been applied.
  for (const Access& access : accesses_)
    if (access.from.rank == rank) end(access, now_, Outcome::peer_failed);
  std::erase_if(accesses_, [&](const Access& access) { return access.from.rank == rank; });
}

bool SimulatedFabric::has_failed(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  return member(rank).killed && now_ >= member(rank).gone_at;
}

bool SimulatedFabric::is_killed(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  return member(rank).killed;
}

/// Counts the deaths that peers see now.
void SimulatedFabric::show_failures() noexcept {
  std::uint32_t seen = 0;
  std::uint32_t left = 0;
  next_failure_ = kNever;
  for (const Member& each : members_) {
    if (!each.killed) {
      if (each.left) ++left;
      continue;
    }
    if (now_ >= each.gone_at)
      ++seen;
    else
      next_failure_ = std::min(next_failure_, each.gone_at);
  }
  failures_.store(seen, std::memory_order_release);
  departures_.store(seen + left, std::memory_order_release);
}

void SimulatedFabric::pause(int rank, Tick ticks) {
  check_rank(rank, "cannot pause");
  const std::lock_guard lock(mutex_);
  member(rank).paused_until = now_ + ticks;
}

void SimulatedFabric::slow(int rank, std::uint32_t percent) {
  check_rank(rank, "cannot slow");
  if (percent >= 100)
    throw Error("sim: rank " + std::to_string(rank) + " cannot be slow in " + std::to_string(percent) +
                " percent of its polls: 0 to 99");
  const std::lock_guard lock(mutex_);
  member(rank).slow = percent;
}

void SimulatedFabric::tick() noexcept {
  ++now_;
  if (now_ >= next_failure_) show_failures();
  apply_due_accesses();
}

void SimulatedFabric::refused(int peer, std::uint64_t result, std::size_t size) noexcept {
  ++counts_.refused;
  note(Event::refused, static_cast<std::uint64_t>(peer), result, size);
  tick();
}

void SimulatedFabric::note(Event event, std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
  const std::uint64_t what = static_cast<std::uint64_t>(event) << 56 ^ now_;
  for (const std::uint64_t value : {what, a, b, c}) schedule_hash_ = Random::mix(schedule_hash_ * 31 + value);
}

}  // namespace weft::network::sim
