#include "network/sim/simulated_parking.hpp"

#include "concurrent/process_barrier.hpp"

#include <algorithm>

namespace weft::network::sim {

bool SimulatedParking::expects_something(DeviceAddress address, const Mailbox& box) const noexcept {
  return !box.ends.empty() || !box.immediates.empty() ||
         std::any_of(box.lanes.begin(), box.lanes.end(),
                     [](const Lane* each) { return each->under_way() != 0; }) ||
         accesses_.concern(address) || members_.is_a_death_unseen();
}

bool SimulatedParking::prepare_park(DeviceAddress address, Mailbox& box) noexcept {
  // For threads that signal a completion object after they have checked for parked threads.
  concurrent::process_barrier();
  const std::lock_guard lock(mutex_);
  return !expects_something(address, box);
}

bool SimulatedParking::park(DeviceAddress address, Mailbox& box, std::uint32_t token,
                            std::chrono::nanoseconds limit) noexcept {
  std::unique_lock lock(mutex_);
  if (expects_something(address, box)) return true;
  box.parked.fetch_add(1, std::memory_order_relaxed);
  const bool is_woken =
      box.bell.wait_for(lock, limit, [&] { return box.token.load(std::memory_order_relaxed) != token; });
  box.parked.fetch_sub(1, std::memory_order_relaxed);
  return is_woken;
}

void SimulatedParking::wake(Mailbox& box) noexcept {
  const std::lock_guard lock(mutex_);
  box.wake();
}

}  // namespace weft::network::sim
