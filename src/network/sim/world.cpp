#include "network/sim/world.hpp"

#include <weft/error.hpp>

#include <algorithm>

namespace weft::network::sim {

World::World(const Knobs& knobs, int ranks)
    : knobs_(knobs),
      random_(knobs.seed),
      fingerprint_(knobs.seed),
      members_(static_cast<std::size_t>(ranks)) {
  for (Member& each : members_) each.slow = knobs.slow;
}

void World::check_rank(int rank, const char* what) const {
  if (rank >= 0 && rank < size()) return;
  throw Error(std::string("sim: ") + what + " rank " + std::to_string(rank) + ": the job has ranks 0 to " +
              std::to_string(size() - 1));
}

void World::join(int rank, const Knobs& knobs, const Network::PacketMemory& packets,
                 std::shared_ptr<std::byte> memory) {
  const std::lock_guard lock(mutex_);
  if (!(knobs == knobs_))
    throw Error(
        "sim: rank " + std::to_string(rank) +
        " sets attributes sim_* to other values than the ranks before it: all ranks share one network");
  Member& joining = member(rank);
  if (joining.joined) throw Error("sim: rank " + std::to_string(rank) + " has joined this network already");
  joining.joined = true;
  joining.packets = packets;
  joining.packet_memory = std::move(memory);
}

void World::leave(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  Member& leaving = member(rank);
  leaving.left = true;
  leaving.regions.clear();
  std::erase_if(accesses_, [&](const Access& access) { return access.from.rank == rank; });
  for (Lane& each : lanes_)
    if (each.to.rank == rank) {
      for (const Flight& flight : each.flights) {
        if (flight.packet != kNoPacket) return_locked(each.from.rank, flight.packet);
        ++counts_.lost;
      }
      counts_.in_flight -= each.flights.size();
      each.flights.clear();
    }
  ring_all();
}

Mailbox& World::mailbox(Place place) {
  auto& box = member(place.rank).mailboxes[place.device];
  if (box == nullptr) box = std::make_unique<Mailbox>();
  return *box;
}

Mailbox& World::open_device(Place place) {
  const std::lock_guard lock(mutex_);
  Mailbox& box = mailbox(place);
  box.open = true;
  return box;
}

void World::close_device(Place place) noexcept {
  const std::lock_guard lock(mutex_);
  Mailbox& box = mailbox(place);
  box.open = false;
  box.ends.clear();
  std::erase_if(accesses_, [&](const Access& access) {
    return access.from.rank == place.rank && access.from.device == place.device;
  });
}

bool World::gone(int observer, int peer) noexcept {
  const std::lock_guard lock(mutex_);
  return gone_locked(observer, peer);
}

bool World::gone_locked(int observer, int peer) noexcept {
  const Member& other = member(peer);
  return other.left || (other.killed && now_ >= other.gone_at) || member(observer).killed;
}

void World::publish_handle(int rank, std::uint16_t id, std::uint16_t generation, HandleState state) noexcept {
  const std::lock_guard lock(mutex_);
  member(rank).handles.publish(id, generation, state, now_,
                               now_ + random_.below(std::uint64_t{knobs_.stale} + 1));
  ring_all();
}

void World::return_packet(int owner, std::uint32_t index) noexcept {
  const std::lock_guard lock(mutex_);
  return_locked(owner, index);
}

void World::return_locked(int owner, std::uint32_t index) noexcept {
  insert_by_due(member(owner).returned, Returned{some_time_from(now_), index});
}

std::size_t World::reclaim_packets(int owner, std::span<std::uint32_t> indices) noexcept {
  const std::lock_guard lock(mutex_);
  std::vector<Returned>& returned = member(owner).returned;
  std::size_t count = 0;
  while (count < indices.size() && count < returned.size() && returned[count].due <= now_) {
    indices[count] = returned[count].index;
    ++count;
  }
  returned.erase(returned.begin(), returned.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

Tick World::now() noexcept {
  const std::lock_guard lock(mutex_);
  return now_;
}

Counts World::counts() noexcept {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::uint64_t World::fingerprint() noexcept {
  const std::lock_guard lock(mutex_);
  return fingerprint_;
}

void World::kill(int rank) {
  check_rank(rank, "cannot kill");
  const std::lock_guard lock(mutex_);
  Member& victim = member(rank);
  if (victim.dead()) return;
  victim.killed = true;
  victim.gone_at = now_ + knobs_.gone;
  note(Event::killed, static_cast<std::uint64_t>(rank), 0, 0);
  drop_traffic_of(rank);
  show_failures();
  ring_all();
}

void World::drop_traffic_of(int rank) noexcept {
  for (Lane& each : lanes_) {
    if (each.from.rank != rank && each.to.rank != rank) continue;
    for (const Flight& flight : each.flights) {
      if (flight.packet != kNoPacket) return_locked(each.from.rank, flight.packet);
      ++counts_.lost;
    }
    counts_.in_flight -= each.flights.size();
    each.flights.clear();
  }
  for (int other = 0; other < size(); ++other)
    for (const auto& [device, box] : member(other).mailboxes)
      std::erase_if(box->immediates, [&](const Mailbox::Immediate& immediate) {
        return other == rank || immediate.from == rank;
      });
  // What the dead rank has begun ends for it at once; its peers' accesses end when they would have been
  // applied.
  for (const Access& access : accesses_)
    if (access.from.rank == rank) end(access, now_, Outcome::peer_failed);
  std::erase_if(accesses_, [&](const Access& access) { return access.from.rank == rank; });
}

bool World::has_failed(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  return member(rank).killed && now_ >= member(rank).gone_at;
}

/// Counts the deaths that peers see by now.
void World::show_failures() noexcept {
  std::uint32_t seen = 0;
  next_failure_ = kNever;
  for (const Member& each : members_) {
    if (!each.killed) continue;
    if (now_ >= each.gone_at)
      ++seen;
    else
      next_failure_ = std::min(next_failure_, each.gone_at);
  }
  failures_.store(seen, std::memory_order_release);
}

void World::pause(int rank, Tick ticks) {
  check_rank(rank, "cannot pause");
  const std::lock_guard lock(mutex_);
  member(rank).paused_until = now_ + ticks;
}

void World::slow(int rank, std::uint32_t percent) {
  check_rank(rank, "cannot slow");
  if (percent >= 100)
    throw Error("sim: rank " + std::to_string(rank) + " cannot be slow in " + std::to_string(percent) +
                " percent of its polls: 0 to 99");
  const std::lock_guard lock(mutex_);
  member(rank).slow = percent;
}

void World::tick() noexcept {
  ++now_;
  if (now_ >= next_failure_) show_failures();
  apply_due_accesses();
}

void World::refused(int peer, std::uint64_t result, std::size_t size) noexcept {
  ++counts_.refused;
  note(Event::refused, static_cast<std::uint64_t>(peer), result, size);
  tick();
}

void World::note(Event event, std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
  const std::uint64_t what = static_cast<std::uint64_t>(event) << 56 ^ now_;
  for (const std::uint64_t value : {what, a, b, c}) fingerprint_ = Random::mix(fingerprint_ * 31 + value);
}

}  // namespace weft::network::sim
