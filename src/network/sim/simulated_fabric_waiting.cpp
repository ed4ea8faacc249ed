// Parking of threads. Time must not stand still for them: as long as traffic is under way to a device, its
// waiting threads keep polling.
#include "network/sim/simulated_fabric.hpp"

#include "concurrent/process_barrier.hpp"

#include <algorithm>

namespace weft::network::sim {

bool SimulatedFabric::expects_something(Place place, const Mailbox& box) noexcept {
  const auto own_access = [&](const Access& access) {
    return access.from.rank == place.rank && access.from.device == place.device;
  };
  const auto unseen_death = [&](const Member& each) { return each.killed && now_ < each.gone_at; };
  return !box.ends.empty() || !box.immediates.empty() ||
         std::any_of(box.lanes.begin(), box.lanes.end(),
                     [](const Lane* each) { return each->under_way() != 0; }) ||
         std::any_of(accesses_.begin(), accesses_.end(),
                     [&](const Access& access) { return own_access(access) || access.peer == place.rank; }) ||
         std::any_of(members_.begin(), members_.end(), unseen_death);
}

bool SimulatedFabric::prepare_park(Place place, Mailbox& box) noexcept {
  // For threads that signal a completion object after they have checked for parked threads.
  concurrent::process_barrier();
  const std::lock_guard lock(mutex_);
  return !expects_something(place, box);
}

bool SimulatedFabric::park(Place place, Mailbox& box, std::uint32_t token,
                           std::chrono::nanoseconds limit) noexcept {
  std::unique_lock lock(mutex_);
  if (expects_something(place, box)) return true;
  box.parked.fetch_add(1, std::memory_order_relaxed);
  const bool is_woken =
      box.bell.wait_for(lock, limit, [&] { return box.token.load(std::memory_order_relaxed) != token; });
  box.parked.fetch_sub(1, std::memory_order_relaxed);
  return is_woken;
}

void SimulatedFabric::wake(Mailbox& box) noexcept {
  const std::lock_guard lock(mutex_);
  box.token.fetch_add(1, std::memory_order_relaxed);
  box.bell.notify_all();
}

void SimulatedFabric::ring(Mailbox& box) noexcept {
  if (box.parked.load(std::memory_order_relaxed) == 0) return;
  box.token.fetch_add(1, std::memory_order_relaxed);
  box.bell.notify_all();
}

void SimulatedFabric::ring_all() noexcept {
  for (Member& each : members_)
    for (auto& [device, box] : each.mailboxes) ring(*box);
}

}  // namespace weft::network::sim
