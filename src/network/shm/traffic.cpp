// What has gone through the lanes of a device, from the positions that they have reached.
#include "network/shm/glance.hpp"
#include "network/shm/port.hpp"

#include <thread>

namespace weft::network::shm {

namespace {

/// Positions that a lane has used, of all its rings, while another thread may be sending in it.
std::uint64_t positions_of(const SendState& state) noexcept {
  constexpr int kAttempts = 10'000;  // the other thread may have lost its core between two stores
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (const auto positions = glance_at_positions(state)) return *positions;
    std::this_thread::yield();
  }
  return glance(state.called);  // nothing inlined, as far as can be told
}

/// A difference of two counts that were not read at the same time.
std::uint64_t difference(std::uint64_t all, std::uint64_t some) noexcept {
  return all > some ? all - some : 0;
}

}  // namespace

Port::Traffic ShmPort::traffic() noexcept {
  Traffic traffic;
  {
    const std::lock_guard lock(setup_mutex_);
    for (const auto& state : send_states_) {
      const std::uint64_t positions = positions_of(*state);
      // What has come and is not there any more has been used.
      const std::uint64_t by_shuttle = difference(
          glance(state->shuttles), state->shuttle.load(std::memory_order_relaxed) != nullptr ? 1 : 0);
      traffic.inlined += difference(positions + by_shuttle, glance(state->called));
      traffic.wide_messages += glance(state->wide_messages);
      traffic.wide_sends += glance(state->wide_sends);
      traffic.wide_bytes += glance(state->wide_bytes);
    }
    traffic.lanes = send_states_.size();
  }
  traffic.lanes_grown = lanes_grown_.load(std::memory_order_relaxed);
  const std::uint32_t high = area_->lanes_high.load(std::memory_order_acquire);
  for (std::uint32_t index = 0; index < high && index < kMaxLanes; ++index) {
    const ReceiveLane* lane = lanes_[index].load(std::memory_order_acquire);
    if (lane == nullptr) continue;
    traffic.delivered += difference(glance(lane->earlier) + glance(lane->head), glance(lane->other));
    traffic.delivered_bytes += glance(lane->bytes);
  }
  return traffic;
}

}  // namespace weft::network::shm
