#include "network/shm/lane/lane_counters.hpp"

#include "concurrent/racy_read.hpp"
#include "network/shm/lane/lane_positions.hpp"

#include <thread>

namespace weft::network::shm {

namespace {

/// The positions that a lane has used in all its rings, read while another thread may be sending in it.
std::uint64_t positions_of(const SendState& state) noexcept {
  constexpr int kAttempts = 10'000;  // the other thread may have lost its core between two stores
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (const auto positions = racy_positions(state)) return *positions;
    std::this_thread::yield();
  }
  return concurrent::racy_word(state.called);  // counts no inlined posts: how
                                               // many there were cannot be told
}

/// The difference of two counts that were not read at the same time; not below zero.
std::uint64_t difference(std::uint64_t all, std::uint64_t some) noexcept {
  return all > some ? all - some : 0;
}

}  // namespace

void add_sent(const SendState& state, Port::Traffic& traffic) noexcept {
  const std::uint64_t positions = positions_of(state);
  // A reply slot that has come and is not here any more has been used.
  const std::uint64_t by_reply_slot =
      difference(concurrent::racy_word(state.reply_slots),
                 state.reply_slot.load(std::memory_order_relaxed) != nullptr ? 1 : 0);
  traffic.inlined += difference(positions + by_reply_slot, concurrent::racy_word(state.called));
  traffic.multi_slot_messages += concurrent::racy_word(state.multi_slot_messages);
  traffic.multi_slot_sends += concurrent::racy_word(state.multi_slot_sends);
  traffic.multi_slot_bytes += concurrent::racy_word(state.multi_slot_bytes);
}

void add_delivered(const ReceiveLane& lane, Port::Traffic& traffic) noexcept {
  traffic.delivered +=
      difference(concurrent::racy_word(lane.counts.earlier) + concurrent::racy_word(lane.ring.head),
                 concurrent::racy_word(lane.counts.other));
  traffic.delivered_bytes += concurrent::racy_word(lane.counts.bytes);
}

}  // namespace weft::network::shm
