#include "network/shm/port/doorbell.hpp"

#include "concurrent/process_barrier.hpp"
#include "concurrent/thread_number.hpp"
#include "network/shm/memory/remote_windows.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cerrno>
#include <climits>
#include <ctime>

namespace weft {

void detail::ring_doorbell(SendLane& lane) noexcept {
  auto& state = *static_cast<network::shm::SendState*>(&lane);
  network::shm::DeviceArea& area = *state.area;
  area.doorbells[state.index / 64].fetch_or(std::uint64_t{1} << (state.index % 64),
                                            std::memory_order_seq_cst);
  // Either this thread sees the parked thread, or the parked thread sees the bit after it has counted itself
  // in park().
  if (area.parked.load(std::memory_order_seq_cst) != 0) {
    area.bell.fetch_add(1, std::memory_order_seq_cst);
    ::syscall(SYS_futex, &area.bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

namespace network::shm {

bool Doorbell::answer() noexcept {
  if (!detail::TryLock::acquire(hot_set_lock_)) return false;
  const std::uint32_t high = lanes_.announced();
  for (std::uint32_t word = 0; word * 64 < high; ++word) {
    if (!lanes_.has_rung(word)) continue;
    // Acquire: the announcement and the slot were written before the bell was rung.
    std::uint64_t bits = lanes_.area().doorbells[word].exchange(0, std::memory_order_acquire);
    for (; bits != 0; bits &= bits - 1) {
      const std::uint64_t bit = bits & -bits;
      const std::uint32_t index = ReceiveLanes::index_of(word, bits);
      ReceiveLane* lane = open_lane_at(index);
      if (lane == nullptr) {
        if (!attach(index)) lanes_.area().doorbells[word].fetch_or(bit, std::memory_order_relaxed);  // later
        lane = open_lane_at(index);
        if (lane == nullptr) continue;
      }
      // With the lane entered, because a thread that has entered it may be moving it to another ring.
      if (lane->lock.enter(concurrent::thread_number())) {
        lanes_.heat(index);
        lane->ring.control->cold.store(0, std::memory_order_relaxed);
        reply_slots_.accept(*lane);
        lane->lock.leave();
      } else if (!lane->lock.closed()) {
        lanes_.area().doorbells[word].fetch_or(bit, std::memory_order_relaxed);
      }
    }
  }
  if (shared_.remote_windows->is_sweep_due() && !shared_.remote_windows->sweep(false))
    ask_to_look(lanes_.area());
  detail::TryLock::release(hot_set_lock_);
  return true;
}

bool Doorbell::cool(bool only_idle) noexcept {
  if (!detail::TryLock::acquire(hot_set_lock_)) return false;
  std::array<std::uint64_t, ReceiveLanes::kWords> cooled{};
  bool any = false;
  bool quiet = true;
  const std::uint32_t words = (lanes_.announced() + 63) / 64;
  for (std::uint32_t word = 0; word < words; ++word) {
    for (std::uint64_t bits = lanes_.hot(word); bits != 0; bits &= bits - 1) {
      const std::uint64_t bit = bits & -bits;
      const std::uint32_t index = ReceiveLanes::index_of(word, bits);
      ReceiveLane& lane = lanes_.at(index);
      if (!lane.lock.enter(concurrent::thread_number())) {
        quiet = false;  // another thread has entered the lane, and may leave without polling it again
        continue;
      }
      const std::uint64_t come = lane.counts.earlier + lane.ring.head;
      if (!only_idle || lane.swept_at == come) {
        // Without the barrier a message could be missed: the lane then stays hot, and is polled at each
        // time-out.
        if (shared_.has_process_barrier) lanes_.cool(index);
        lane.ring.control->cold.store(1, std::memory_order_relaxed);
        cooled[word] |= bit;
        any = true;
      }
      lane.swept_at = come;
      lane.lock.leave();
    }
  }
  // The barrier also runs when no lane was cooled: callers that park rely on it.
  if (any || !only_idle) concurrent::process_barrier();
  if (any) {
    for (std::uint32_t word = 0; word < words; ++word) {
      for (std::uint64_t bits = cooled[word]; bits != 0; bits &= bits - 1) {
        const std::uint32_t index = ReceiveLanes::index_of(word, bits);
        ReceiveLane& lane = lanes_.at(index);
        if (!lane.may_have_message()) continue;
        quiet = false;
        lanes_.heat(index);
        if (!lane.lock.enter(concurrent::thread_number())) continue;  // the lane stays cold: its sender rings
        lane.ring.control->cold.store(0, std::memory_order_relaxed);
        lane.lock.leave();
      }
    }
  }
  detail::TryLock::release(hot_set_lock_);
  return quiet;
}

/// Returns true when a doorbell of an announced lane has been rung. A sender announces a lane before it rings
/// and checks for parked threads after that, in one order with the steps of a thread that parks.
bool Doorbell::has_rung() const noexcept {
  const std::uint32_t high =
      std::min(lanes_.area().lanes_high.load(std::memory_order_seq_cst), lanes_.capacity());
  for (std::uint32_t word = 0; word * 64 < high; ++word)
    if (lanes_.area().doorbells[word].load(std::memory_order_seq_cst) != 0) return true;
  return false;
}

bool Doorbell::park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept {
  bool is_woken = true;
  lanes_.area().parked.fetch_add(1, std::memory_order_seq_cst);
  if (!has_rung()) {
    timespec until{};
    ::clock_gettime(CLOCK_MONOTONIC, &until);
    const long long nanoseconds = until.tv_nsec + limit.count();
    until.tv_sec += static_cast<time_t>(nanoseconds / 1'000'000'000);
    until.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
    is_woken =
        ::syscall(SYS_futex, &lanes_.area().bell, FUTEX_WAIT_BITSET, token, &until, nullptr, bits) == 0 ||
        errno != ETIMEDOUT;
  }
  lanes_.area().parked.fetch_sub(1, std::memory_order_seq_cst);
  return is_woken;
}

void Doorbell::wake(std::uint32_t bits) noexcept {
  lanes_.area().bell.fetch_add(1, std::memory_order_seq_cst);
  ::syscall(SYS_futex, &lanes_.area().bell, FUTEX_WAKE_BITSET, INT_MAX, nullptr, nullptr, bits);
}

}  // namespace network::shm
}  // namespace weft
