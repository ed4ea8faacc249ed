#include "network/shm/port/polling.hpp"

#include "concurrent/thread_number.hpp"
#include "network/shm/port/port.hpp"

#include <bit>

namespace weft::network::shm {

namespace {

constexpr std::uint32_t kSweepEvery = 4096;  // polls, while more than kPolledAllUpTo lanes are hot
constexpr int kFewOthers = 3;                // lanes that are not for data, beside a single lane that is
constexpr std::uint32_t kInARow = 8;         // successful polls of one lane after which it is polled first

}  // namespace

/// Returns true when the lane has been entered; false when another thread has entered it, or the lane has
/// ended.
[[gnu::always_inline]] inline bool Polling::enter(ReceiveLane& lane) const noexcept {
  if (!lanes_.are_exclusive()) return lane.lock.enter(concurrent::thread_number());
  lane.lock.enter_alone(concurrent::thread_number());
  return true;
}

[[gnu::always_inline]] inline std::size_t Polling::poll(Sink& sink, std::size_t limit) noexcept {
  if (lanes_.has_classes()) [[unlikely]]
    return poll_in_order(sink, limit);
  if (!lanes_.are_exclusive() && lanes_.has_stripes()) return poll_own_first(sink, limit);
  const std::uint32_t words = lanes_.words();
  const std::uint64_t bits = lanes_.hot(0);
  const std::uint64_t data = bits & ~lanes_.protocol(0);
  if (words != 1 || data == 0 || (data & (data - 1)) != 0 || lanes_.has_rung(0)) [[unlikely]]
    return poll_all(words, sink, limit);
  // Fast path for a single lane for data, as two ranks have that wait for each other's answers.
  int others = 0;
  for (std::uint64_t rest = bits ^ data; rest != 0; rest &= rest - 1)
    if (++others > kFewOthers || lanes_.at(ReceiveLanes::index_of(0, rest)).may_have_message()) [[unlikely]]
      return poll_all(words, sink, limit);
  ReceiveLane& lane = lanes_.at(ReceiveLanes::index_of(0, data));
  lane.await_first_poll();
  if (!lane.may_have_message()) {
    lane.visits.found_empty();
    if (lane.reply.awaits_answer()) PollDelay::between();
    return 0;
  }
  if (!enter(lane)) return 0;
  const std::size_t count = receiver_.receive(lane, sink, limit, bits == data);
  lane.lock.leave();
  return count;
}

/// Polls one lane alone, when all of the last messages came by it and this rank awaits an answer there.
/// Returns the number of messages taken; 0 means that all lanes must be polled.
[[gnu::always_inline]] inline std::size_t Polling::poll_ping_pong(Sink& sink, std::size_t limit) noexcept {
  if (recent_.in_a_row.load(std::memory_order_relaxed) != kInARow) return 0;
  const std::uint32_t index = recent_.lane.load(std::memory_order_relaxed);
  ReceiveLane& lane = lanes_.at(index);
  const bool is_hot = (lanes_.hot(index / 64) >> index % 64 & 1) != 0;
  if (!is_hot || !lane.reply.awaits_answer()) return 0;
  const std::uint32_t skips = recent_.skips.load(std::memory_order_relaxed);
  if (skips == 0) {
    recent_.skips.store(kSkips, std::memory_order_relaxed);
    return 0;
  }
  lane.await_first_poll();
  if (!lane.may_have_message() || !enter(lane)) return 0;
  const std::size_t count = receiver_.receive(lane, sink, limit, false);
  lane.lock.leave();
  // Empty polls only read.
  if (count != 0) recent_.skips.store(skips - 1, std::memory_order_relaxed);
  return count;
}

/// Notes that a poll of the lane has taken messages.
[[gnu::always_inline]] inline void Polling::note_visit(std::uint32_t index) noexcept {
  const std::uint32_t visits = recent_.in_a_row.load(std::memory_order_relaxed);
  if (index != recent_.lane.load(std::memory_order_relaxed)) {
    recent_.lane.store(index, std::memory_order_relaxed);
    recent_.in_a_row.store(0, std::memory_order_relaxed);
  } else if (visits != kInARow) {
    recent_.in_a_row.store(visits + 1, std::memory_order_relaxed);
  }
}

/// Polls any number of lanes; the slow path of poll().
[[gnu::noinline]] std::size_t Polling::poll_all(std::uint32_t words, Sink& sink, std::size_t limit) noexcept {
  if (const std::size_t count = poll_ping_pong(sink, limit); count != 0) return count;
  std::size_t count = 0;
  int hot = 0;
  bool awaits_answer = false;
  for (std::uint32_t word = 0; word < words && word < ReceiveLanes::kWords; ++word) {
    if (lanes_.has_rung(word)) [[unlikely]]
      doorbell_.answer();
    std::uint64_t bits = lanes_.hot(word);
    const bool alone = words == 1 && (bits & (bits - 1)) == 0;
    for (; bits != 0; bits &= bits - 1) {
      ++hot;
      ReceiveLane& lane = lanes_.at(ReceiveLanes::index_of(word, bits));
      if (!lane.may_have_message()) {
        lane.visits.found_empty();
        awaits_answer = awaits_answer || lane.reply.awaits_answer();
        continue;
      }
      if (!enter(lane)) continue;
      const std::size_t taken = receiver_.receive(lane, sink, limit, alone);
      lane.lock.leave();
      if (taken != 0) note_visit(lane.index);
      count += taken;
    }
  }
  if (hot > kPolledAllUpTo) [[unlikely]]
    cool_now_and_then();
  if (awaits_answer && count == 0) PollDelay::between();
  return count;
}

/// With many hot lanes: cools those that stay silent, so that only their doorbells are polled.
[[gnu::noinline]] void Polling::cool_now_and_then() noexcept {
  thread_local std::uint32_t polls = 0;
  if (++polls % kSweepEvery == 0) doorbell_.cool(true);
}

std::size_t Polling::poll_lane(std::uint32_t index, Sink& sink, std::size_t limit) noexcept {
  ReceiveLane& lane = lanes_.at(index);
  if (!lane.may_have_message() || !enter(lane)) return 0;
  const std::size_t count = receiver_.receive(lane, sink, limit, false);
  lane.lock.leave();
  return count;
}

// Here, so that a poll costs one call.
std::size_t ShmPort::poll(Sink& sink, std::size_t limit) noexcept { return polling_.poll(sink, limit); }

}  // namespace weft::network::shm
