// Polling: which lanes are looked at, and when.
#include "network/shm/port.hpp"

#include "concurrent/thread_number.hpp"

#include <bit>

namespace weft::network::shm {

namespace {

constexpr std::uint32_t kSweepEvery = 4096;  // polls, while more than kPolledAllUpTo lanes are hot
constexpr int kFewOthers = 3;                // lanes that are not for data, beside one that is
constexpr std::uint32_t kInARow = 8;         // visits that found something, after which one lane comes first

}  // namespace

/// False: another thread is inside, or the lane has ended.
[[gnu::always_inline]] inline bool ShmPort::enter(ReceiveLane& lane, bool exclusive) noexcept {
  if (!exclusive) return lane.entrance.enter(concurrent::thread_number());
  lane.entrance.enter_alone(concurrent::thread_number());
  return true;
}

std::size_t ShmPort::poll(Sink& sink, std::size_t limit, bool exclusive) noexcept {
  if (has_classes_.load(std::memory_order_relaxed)) [[unlikely]]
    return poll_in_order(sink, limit, exclusive);
  if (!exclusive && has_stripes_.load(std::memory_order_relaxed)) return poll_own_first(sink, limit);
  const std::uint32_t words = (area_->lanes_high.load(std::memory_order_relaxed) + 63) / 64;
  const std::uint64_t bits = hot_[0].load(std::memory_order_relaxed);
  const std::uint64_t data = bits & ~protocol_[0].load(std::memory_order_relaxed);
  if (words != 1 || data == 0 || (data & (data - 1)) != 0 ||
      area_->doorbells[0].load(std::memory_order_relaxed) != 0) [[unlikely]]
    return poll_all(words, sink, limit, exclusive);
  // One lane for data, by a way of its own: it is what ranks have that wait for each other's answers.
  int others = 0;
  for (std::uint64_t rest = bits ^ data; rest != 0; rest &= rest - 1)
    if (++others > kFewOthers || may_have_message(lane_at(index_of(0, rest)))) [[unlikely]]
      return poll_all(words, sink, limit, exclusive);
  ReceiveLane& lane = lane_at(index_of(0, data));
  await_first_look(lane);
  if (!may_have_message(lane)) {
    lane.looked_in_vain();
    if (lane.awaits_answer()) leave_line_alone(kBetweenLooks);
    return 0;
  }
  if (!enter(lane, exclusive)) return 0;
  const std::size_t count = receive(lane, sink, limit, bits == data);
  lane.entrance.leave();
  return count;
}

/// Where all of the last messages have come by one lane, and this rank awaits an answer there: that lane by
/// itself, as if there were no others. 0: all of them are due.
[[gnu::always_inline]] inline std::size_t ShmPort::poll_dialogue(Sink& sink, std::size_t limit,
                                                                 bool exclusive) noexcept {
  if (recent_.in_a_row.load(std::memory_order_relaxed) != kInARow) return 0;
  const std::uint32_t index = recent_.lane.load(std::memory_order_relaxed);
  ReceiveLane& lane = lane_at(index);
  const bool is_hot = (hot_[index / 64].load(std::memory_order_relaxed) >> index % 64 & 1) != 0;
  if (!is_hot || !lane.awaits_answer()) return 0;
  const std::uint32_t skips = recent_.skips.load(std::memory_order_relaxed);
  if (skips == 0) {
    recent_.skips.store(kSkips, std::memory_order_relaxed);
    return 0;
  }
  await_first_look(lane);
  if (!may_have_message(lane) || !enter(lane, exclusive)) return 0;
  const std::size_t count = receive(lane, sink, limit, false);
  lane.entrance.leave();
  // Polls that find nothing only read.
  if (count != 0) recent_.skips.store(skips - 1, std::memory_order_relaxed);
  return count;
}

/// A visit of the lane has found something.
[[gnu::always_inline]] inline void ShmPort::note_visit(std::uint32_t index) noexcept {
  const std::uint32_t visits = recent_.in_a_row.load(std::memory_order_relaxed);
  if (index != recent_.lane.load(std::memory_order_relaxed)) {
    recent_.lane.store(index, std::memory_order_relaxed);
    recent_.in_a_row.store(0, std::memory_order_relaxed);
  } else if (visits != kInARow) {
    recent_.in_a_row.store(visits + 1, std::memory_order_relaxed);
  }
}

/// The same with any lanes.
[[gnu::noinline]] std::size_t ShmPort::poll_all(std::uint32_t words, Sink& sink, std::size_t limit,
                                                bool exclusive) noexcept {
  if (const std::size_t count = poll_dialogue(sink, limit, exclusive); count != 0) return count;
  std::size_t count = 0;
  int hot = 0;
  bool awaits_answer = false;
  for (std::uint32_t word = 0; word < words && word < kWords; ++word) {
    if (area_->doorbells[word].load(std::memory_order_relaxed) != 0) [[unlikely]]
      answer_doorbells(exclusive);
    std::uint64_t bits = hot_[word].load(std::memory_order_relaxed);
    const bool alone = words == 1 && (bits & (bits - 1)) == 0;
    for (; bits != 0; bits &= bits - 1) {
      ++hot;
      ReceiveLane& lane = lane_at(index_of(word, bits));
      if (!may_have_message(lane)) {
        lane.looked_in_vain();
        awaits_answer = awaits_answer || lane.awaits_answer();
        continue;
      }
      if (!enter(lane, exclusive)) continue;
      const std::size_t taken = receive(lane, sink, limit, alone);
      lane.entrance.leave();
      if (taken != 0) note_visit(lane.index);
      count += taken;
    }
  }
  if (hot > kPolledAllUpTo) [[unlikely]]
    cool_now_and_then(exclusive);
  if (awaits_answer && count == 0) leave_line_alone(kBetweenLooks);
  return count;
}

/// With many hot lanes: those that stay silent are left to their doorbells.
[[gnu::noinline]] void ShmPort::cool_now_and_then(bool exclusive) noexcept {
  thread_local std::uint32_t polls = 0;
  if (++polls % kSweepEvery == 0) cool(true, exclusive);
}

std::size_t ShmPort::poll_lane(std::uint32_t index, Sink& sink, std::size_t limit, bool exclusive) noexcept {
  ReceiveLane& lane = lane_at(index);
  if (!may_have_message(lane) || !enter(lane, exclusive)) return 0;
  const std::size_t count = receive(lane, sink, limit, false);
  lane.entrance.leave();
  return count;
}

}  // namespace weft::network::shm
