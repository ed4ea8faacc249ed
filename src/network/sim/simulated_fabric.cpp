#include "network/sim/simulated_fabric.hpp"

#include <weft/error.hpp>

#include <string>
#include <utility>

namespace weft::network::sim {

void SimulatedFabric::join(int rank, const SimulationParameters& parameters,
                           const Network::PacketMemory& packets, std::shared_ptr<std::byte> memory) {
  const std::lock_guard lock(mutex_);
  if (!(parameters == schedule_.parameters()))
    throw Error(
        ErrorClass::network,
        "sim: rank " + std::to_string(rank) +
            " sets attributes sim_* to other values than the ranks before it: all ranks share one network");
  Member& joining = members_.at(rank);
  if (joining.joined)
    throw Error(ErrorClass::network,
                "sim: rank " + std::to_string(rank) + " has joined this network already");
  joining.joined = true;
  joining.packets = packets;
  joining.packet_memory = std::move(memory);
}

void SimulatedFabric::leave(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  Member& leaving = members_.at(rank);
  leaving.left = true;
  members_.show_failures();
  leaving.regions.clear();
  accesses_.drop_of(rank);
  traffic_.drop_to(rank);
  Members::drop_unread_packets(leaving);
  members_.ring_all();
}

bool SimulatedFabric::has_left(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  return members_.at(rank).left && !members_.at(rank).killed;
}

void SimulatedFabric::publish_closing(int rank, Network::Closing how) noexcept {
  const std::lock_guard lock(mutex_);
  members_.at(rank).closing = how;
}

Network::Closing SimulatedFabric::closing(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  return members_.at(rank).closing;
}

Mailbox& SimulatedFabric::open_device(DeviceAddress address) {
  const std::lock_guard lock(mutex_);
  Mailbox& box = members_.mailbox(address);
  box.open = true;
  return box;
}

void SimulatedFabric::close_device(DeviceAddress address) noexcept {
  const std::lock_guard lock(mutex_);
  Mailbox& box = members_.mailbox(address);
  box.open = false;
  box.ends.clear();
  accesses_.drop_of(address);
}

bool SimulatedFabric::has_left(int observer, int peer) noexcept {
  const std::lock_guard lock(mutex_);
  return members_.has_left(observer, peer);
}

void SimulatedFabric::publish_handle(int rank, std::uint16_t id, std::uint16_t generation,
                                     HandleState state) noexcept {
  const std::lock_guard lock(mutex_);
  members_.at(rank).handles.publish(
      id, generation, state, schedule_.now(),
      schedule_.now() + schedule_.random().below(std::uint64_t{schedule_.parameters().stale} + 1));
  members_.ring_all();
}

void SimulatedFabric::return_packet(int owner, std::uint32_t index) noexcept {
  const std::lock_guard lock(mutex_);
  members_.return_packet(owner, index);
}

std::uint32_t SimulatedFabric::packets_away(int owner) noexcept {
  const std::lock_guard lock(mutex_);
  return members_.at(owner).packets_away;
}

std::size_t SimulatedFabric::reclaim_packets(int owner, std::span<std::uint32_t> indices) noexcept {
  const std::lock_guard lock(mutex_);
  return members_.reclaim_packets(owner, indices);
}

Tick SimulatedFabric::now() noexcept {
  const std::lock_guard lock(mutex_);
  return schedule_.now();
}

Counts SimulatedFabric::counts() noexcept {
  const std::lock_guard lock(mutex_);
  return schedule_.counts();
}

std::uint64_t SimulatedFabric::schedule_hash() noexcept {
  const std::lock_guard lock(mutex_);
  return schedule_.hash();
}

void SimulatedFabric::kill(int rank) {
  members_.check(rank, "cannot kill");
  const std::lock_guard lock(mutex_);
  Member& victim = members_.at(rank);
  if (victim.dead()) return;
  victim.killed = true;
  victim.gone_at = schedule_.now() + schedule_.parameters().gone;
  schedule_.note(Schedule::Event::killed, static_cast<std::uint64_t>(rank), 0, 0);
  traffic_.drop_of(rank);
  accesses_.fail_of(rank);
  members_.show_failures();
  members_.ring_all();
}

bool SimulatedFabric::has_failed(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  return members_.at(rank).killed && schedule_.now() >= members_.at(rank).gone_at;
}

bool SimulatedFabric::is_killed(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  return members_.at(rank).killed;
}

void SimulatedFabric::pause(int rank, Tick ticks) {
  members_.check(rank, "cannot pause");
  const std::lock_guard lock(mutex_);
  members_.at(rank).paused_until = schedule_.now() + ticks;
}

void SimulatedFabric::slow(int rank, std::uint32_t percent) {
  members_.check(rank, "cannot slow");
  if (percent >= 100)
    throw Error(ErrorClass::network, "sim: rank " + std::to_string(rank) + " cannot be slow in " +
                                         std::to_string(percent) + " percent of its polls: 0 to 99");
  const std::lock_guard lock(mutex_);
  members_.at(rank).slow = percent;
}

}  // namespace weft::network::sim
