// Whose lane answers which, where threads share a device.
//
// Threads of two ranks that talk to each other need not have the same number in both, so the lanes by which
// they do are not of one stripe. What tells is how many messages come and go: whenever credit is told for a
// lane that has no shuttle yet, this rank's lanes are looked at, and the one that answers gets the shuttle.
// Once that carries a dialogue, its threads look at the lane that it answers before they look at others.
// docs/decisions/027.
#include "network/shm/glance.hpp"
#include "network/shm/port.hpp"

#include <chrono>
#include <utility>

namespace weft::network::shm {

using detail::DevicePath;

namespace {

// When it is given up to find out: lanes of other threads are lines of other cores.
constexpr std::uint32_t kPeriods = 64;
constexpr std::uint64_t kSlack = 2;  // messages that have been taken and not yet answered, or the other way

bool keeps_up(std::uint64_t sent, std::uint64_t received) noexcept {
  return sent + kSlack >= received && sent <= received + kSlack;
}

}  // namespace

/// The only lane that has sent as many messages as have come since credit was told before, if there is one.
SendState* ShmPort::answering_lane(ReceiveLane& lane, std::uint64_t received) noexcept {
  SendState* found = nullptr;
  bool are_several = false;
  for (std::uint32_t column = 0; column < DevicePath::kNoColumn; ++column) {
    auto* const state =
        static_cast<SendState*>(path_.lane(lane.peer->rank, static_cast<std::uint8_t>(lane.device), column));
    const auto now = state != nullptr ? glance_at_positions(*state) : std::nullopt;
    if (!now.has_value()) continue;
    const std::uint64_t sent = *now - std::exchange(lane.dialogue.sent[column], *now);
    if (!keeps_up(sent, received)) continue;
    are_several = are_several || (found != nullptr && found != state);
    found = state;
  }
  return are_several ? nullptr : found;
}

/// Inside the lane, of which all before `head` has been read.
void ShmPort::find_answers(ReceiveLane& lane, std::uint64_t head) noexcept {
  // The higher rank of two offers shuttles.
  if (!lane.is_data || lane.peer->rank >= shared_.segment->mapping().header().rank) return;
  Dialogue& dialogue = lane.dialogue;
  if (dialogue.periods == kPeriods) {
    pair(lane);
    return;
  }
  const std::uint64_t positions = lane.earlier + head;
  SendState* const answering = answering_lane(lane, positions - std::exchange(dialogue.received, positions));
  // Twice in a row, and not when the first counts were of all that had been sent before.
  if (dialogue.periods++ > 1 && answering != nullptr && answering == dialogue.answering &&
      !answering->is_paired.load(std::memory_order_relaxed))
    offer_shuttle(lane, *answering);
  dialogue.answering = answering;
}

/// After every Patience::kEpoch answers by the shuttle. Inside the lane.
[[gnu::noinline]] void ShmPort::end_epoch(ReceiveLane& lane, std::uint32_t epoch) noexcept {
  lane.patience.end_epoch(epoch, std::chrono::steady_clock::now());
  const SendState* const back = lane.back.load(std::memory_order_relaxed);
  if (lane.is_owned || back == nullptr || !lane.is_dialogue.load(std::memory_order_relaxed) ||
      !has_stripes_.load(std::memory_order_relaxed))
    return;
  // Not before it is a dialogue: of windows and streams, which go one way, any thread that has time takes
  // more while they are in its own set.
  set_owners(lane.index, back->stripe);
  lane.is_owned = true;
}

}  // namespace weft::network::shm
