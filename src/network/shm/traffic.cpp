// What has gone through the lanes of a device, from the positions that they have reached.
#include "network/shm/port.hpp"

namespace weft::network::shm {

namespace {

/// Reads what another thread may be writing: whoever asks wants to know about how much it is. (Naturally
/// aligned words are read whole. ThreadSanitizer is told that this is meant.)
template <class Word>
__attribute__((no_sanitize("thread"), noinline)) Word glance(const Word& value) noexcept {
  return *static_cast<const volatile Word*>(&value);
}

/// SendLane::tail() of a lane in which another thread may be sending.
std::uint64_t glance_at_tail(const detail::SendLane& lane) noexcept {
  constexpr int kAttempts = 64;  // the other thread may have lost its core between two stores
  std::uint64_t lap = 0;
  const detail::Slot* next = nullptr;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // In the other order than move_to() writes them.
    const std::uint64_t mark = glance(lane.mark);
    std::atomic_thread_fence(std::memory_order_acquire);
    next = glance(lane.next);
    std::atomic_thread_fence(std::memory_order_acquire);
    lap = glance(lane.lap);
    if (mark == detail::slot_header(lap, 0, 0, detail::SlotKind{})) break;
  }
  return lap + static_cast<std::uint64_t>(next - lane.slots);
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
      const std::uint64_t positions = glance(state->earlier) + glance_at_tail(*state);
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
