#include "network/shm/lane/receive_lane.hpp"

namespace weft::network::shm {

namespace {

// A pause begins after kMixedTurns messages in a row that came with others in the ring, and lasts for kPause
// slots of the ring. It does not begin after messages of more than kMayPause bytes, for which rings move more
// lines.
constexpr std::uint32_t kMixedTurns = 8;
constexpr std::uint64_t kPause = 256;
constexpr std::size_t kMayPause = 256;

}  // namespace

bool ReceivedReplySlot::pauses(std::uint64_t head, std::uint64_t ring_slots, std::size_t size) noexcept {
  if (ring_slots == 0 || size > kMayPause)
    mixed_turns = 0;
  else if (ring_slots >= kPause / 2)
    mixed_turns = kMixedTurns - 1;  // the peer paused it, and tries again
  else
    ++mixed_turns;
  if (mixed_turns < kMixedTurns) return false;
  paused_until = head + kPause;
  return true;
}

void ReceivedReplySlot::reset() noexcept {
  slot.store(&no_reply_slot, std::memory_order_relaxed);
  turn.store(0xffffffff, std::memory_order_relaxed);
  back.store(nullptr, std::memory_order_relaxed);
  is_ping_pong.store(false, std::memory_order_relaxed);
  is_paired.store(false, std::memory_order_relaxed);
  head_then = paused_until = own_offset = 0;
  passed = mixed_turns = 0;
  handlers_answer = false;
}

}  // namespace weft::network::shm
