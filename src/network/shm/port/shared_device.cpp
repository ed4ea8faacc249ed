// Polling by threads that share the device, when peers' threads spread over lanes.
//
// A thread polls the lanes of its own column first, and the other lanes when these are empty, or now and
// then. A lane that another thread has drained last is left to that thread: only one message is taken, which
// moves few cache lines and keeps a thread from idling while there are messages. When a lane is found as this
// thread has left it, no other thread polls it: all of its messages are taken, in every poll from then on.
#include "network/shm/port/polling.hpp"

#include "concurrent/thread_number.hpp"

#include <algorithm>
#include <bit>

namespace weft::network::shm {

std::size_t Polling::poll_own_first(Sink& sink, std::size_t limit) noexcept {
  const std::uint32_t thread = concurrent::thread_number() + 1;
  const std::uint32_t column = (thread - 1) % ReceiveLanes::kColumns;
  std::atomic<std::uint32_t>& left = skips_[column].left;
  const std::uint32_t words =
      std::min<std::uint32_t>(lanes_.words(), static_cast<std::uint32_t>(ReceiveLanes::kWords));
  const std::uint32_t skips = left.load(std::memory_order_relaxed);
  std::size_t count = 0;
  bool awaits_answer = false;
  for (std::uint32_t word = 0; word < words; ++word) {
    if (lanes_.has_rung(word)) [[unlikely]]
      doorbell_.answer();
    std::uint64_t bits = lanes_.hot(word) & lanes_.own(column, word);
    const bool alone = skips != 0 && words == 1 && (bits & (bits - 1)) == 0;
    if (const std::uint64_t data = bits & ~lanes_.protocol(word);
        skips != 0 && words == 1 && data != 0 && (data & (data - 1)) == 0)
      lanes_.at(ReceiveLanes::index_of(0, data)).await_first_poll();
    for (; bits != 0; bits &= bits - 1)
      count += visit_lane(ReceiveLanes::index_of(word, bits), sink, limit, thread, alone, awaits_answer);
  }
  if (count != 0 && skips != 0) {
    left.store(skips - 1, std::memory_order_relaxed);
    return count;
  }
  bool is_needed = false;
  int hot = 0;
  for (std::uint32_t word = 0; word < words; ++word) {
    const std::uint64_t all = lanes_.hot(word);
    hot += std::popcount(all);
    for (std::uint64_t bits = all & ~lanes_.own(column, word); bits != 0; bits &= bits - 1) {
      const std::uint32_t index = ReceiveLanes::index_of(word, bits);
      const bool was_last = lanes_.at(index).last_thread.load(std::memory_order_relaxed) == thread;
      const std::size_t taken = visit_lane(index, sink, was_last ? limit : 1, thread, false, awaits_answer);
      is_needed = is_needed || (was_last && taken != 0);
      count += taken;
    }
  }
  // Further empty polls only read.
  if (const std::uint32_t next = is_needed ? 0 : kSkips; next != skips)
    left.store(next, std::memory_order_relaxed);
  if (hot > kPolledAllUpTo) [[unlikely]]
    cool_now_and_then();
  if (awaits_answer && count == 0) PollDelay::between();
  return count;
}

std::size_t Polling::visit_lane(std::uint32_t index, Sink& sink, std::size_t limit, std::uint32_t thread,
                                bool alone, bool& awaits_answer) noexcept {
  ReceiveLane& lane = lanes_.at(index);
  if (!lane.may_have_message()) {
    awaits_answer = awaits_answer || lane.reply.awaits_answer();
    return 0;
  }
  if (!lane.lock.enter(thread - 1)) return 0;
  const std::size_t count = receiver_.receive(lane, sink, limit, alone);
  // A thread that only returned credit does not become its last thread.
  if (count != 0 && lane.last_thread.load(std::memory_order_relaxed) != thread)
    lane.last_thread.store(thread, std::memory_order_relaxed);
  lane.lock.leave();
  return count;
}

}  // namespace weft::network::shm
