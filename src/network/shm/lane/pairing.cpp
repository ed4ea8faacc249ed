// Finds the lane that answers another lane, when threads share a device.
//
// Threads of two ranks that talk to each other need not have the same number in both ranks, so their two
// lanes need not be of one stripe. The numbers of messages in both directions decide: whenever credit is
// returned for a lane that has no reply slot yet, it is compared with this rank's lanes, and the one that
// answers gets the reply slot. Once that carries a ping-pong, the threads of the answering lane poll the
// other lane before further lanes. docs/decisions/027.
#include "network/shm/lane/lane_positions.hpp"
#include "network/shm/lane/reply_slots.hpp"
#include "network/shm/segment/segment.hpp"

#include <chrono>
#include <utility>

namespace weft::network::shm {

using detail::DevicePath;

namespace {

// Returns of credit after which the search is given up: it reads the lanes of other threads, which are lines
// of other cores.
constexpr std::uint32_t kPeriods = 64;
constexpr std::uint64_t kSlack = 2;  // messages not yet answered, in either direction

bool keeps_up(std::uint64_t sent, std::uint64_t received) noexcept {
  return sent + kSlack >= received && sent <= received + kSlack;
}

}  // namespace

/// Returns the only lane that has sent as many messages as were received since credit was returned before, or
/// nullptr.
SendState* ReplySlots::answering_lane(ReceiveLane& lane, std::uint64_t received) noexcept {
  SendState* found = nullptr;
  bool are_several = false;
  for (std::uint32_t column = 0; column < DevicePath::kNoColumn; ++column) {
    SendState* const state = lane_back(lane, column);
    const auto now = state != nullptr ? racy_positions(*state) : std::nullopt;
    if (!now.has_value()) continue;
    const std::uint64_t sent = *now - std::exchange(lane.search.sent[column], *now);
    if (!keeps_up(sent, received)) continue;
    are_several = are_several || (found != nullptr && found != state);
    found = state;
  }
  return are_several ? nullptr : found;
}

void ReplySlots::find_answers(ReceiveLane& lane, std::uint64_t head) noexcept {
  // Only the higher of the two ranks offers reply slots.
  if (!lane.is_data || lane.peer->rank >= rank()) return;
  AnswerSearch& search = lane.search;
  if (search.periods == kPeriods) {
    pair(lane);
    return;
  }
  const std::uint64_t positions = lane.counts.earlier + head;
  SendState* const answering = answering_lane(lane, positions - std::exchange(search.received, positions));
  // The same lane must be found twice in a row; the first counts do not decide, since they include everything
  // that was sent before.
  if (search.periods++ > 1 && answering != nullptr && answering == search.answering &&
      !answering->is_paired.load(std::memory_order_relaxed))
    offer(lane, *answering);
  search.answering = answering;
}

[[gnu::noinline]] void ReplySlots::end_epoch(ReceiveLane& lane, std::uint32_t epoch) noexcept {
  lane.poll_delay.end_epoch(epoch, std::chrono::steady_clock::now());
  const SendState* const back = lane.reply.back.load(std::memory_order_relaxed);
  if (lane.search.is_owned || back == nullptr || !lane.reply.is_ping_pong.load(std::memory_order_relaxed) ||
      !lanes_.has_stripes())
    return;
  // Only once it is a ping-pong: windows and streams, which go one way, are drained faster when any thread
  // with time polls them in its own set.
  lanes_.set_owners(lane.index, back->stripe);
  lane.search.is_owned = true;
}

}  // namespace weft::network::shm
