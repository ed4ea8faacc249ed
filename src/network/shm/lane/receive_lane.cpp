#include "network/shm/lane/receive_lane.hpp"

namespace weft::network::shm {

namespace {

// A rest begins after kDetours messages in a row that came with others in the ring, and lasts for kRest slots
// of the ring. It does not begin after messages of more than kMayRest bytes, for which rings move more lines.
constexpr std::uint32_t kDetours = 8;
constexpr std::uint64_t kRest = 256;
constexpr std::size_t kMayRest = 256;

}  // namespace

bool ReceivedReplySlot::lets_rest(std::uint64_t head, std::uint64_t detour, std::size_t size) noexcept {
  if (detour == 0 || size > kMayRest)
    detours = 0;
  else if (detour >= kRest / 2)
    detours = kDetours - 1;  // the peer let it rest, and tries again
  else
    ++detours;
  if (detours < kDetours) return false;
  rests_until = head + kRest;
  return true;
}

void ReceivedReplySlot::reset() noexcept {
  slot.store(&no_reply_slot, std::memory_order_relaxed);
  turn.store(0xffffffff, std::memory_order_relaxed);
  back.store(nullptr, std::memory_order_relaxed);
  is_ping_pong.store(false, std::memory_order_relaxed);
  is_paired.store(false, std::memory_order_relaxed);
  head_then = rests_until = own_offset = 0;
  passed = detours = 0;
  handlers_answer = false;
}

}  // namespace weft::network::shm
