// What has gone through the lanes of a device, from the positions that they have reached.
#include "network/shm/port.hpp"

namespace weft::network::shm {

namespace {

/// Reads what another thread may be writing: whoever asks wants to know about how much it is. (Naturally
/// aligned words are read whole. ThreadSanitizer is told that this is meant.)
__attribute__((no_sanitize("thread"), noinline)) std::uint64_t glance(const std::uint64_t& value) noexcept {
  return *static_cast<const volatile std::uint64_t*>(&value);
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
      const std::uint64_t positions = glance(state->earlier) + glance(state->tail);
      traffic.inlined += difference(positions, glance(state->called));
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
