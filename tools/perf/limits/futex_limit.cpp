// The limit of waking a rank: a word in memory that both processes map, and a thread that sleeps until the
// kernel wakes it for that word.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <new>
#include <vector>

#include "base/clock.hpp"
#include "perf/limits/limits.hpp"
#include "perf/measure/forked_ranks.hpp"
#include "perf/workloads/idle_and_wake_up.hpp"

namespace weft::tools::perf {
namespace {

struct Doorbell {
  std::atomic<std::uint32_t> rings{0};
  std::atomic<std::int64_t> rung_at{0};  // 0: no more rings will follow

  void ring(std::int64_t now) {
    rung_at.store(now, std::memory_order_relaxed);
    rings.fetch_add(1, std::memory_order_release);
    ::syscall(SYS_futex, &rings, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
  /// Sleeps until the bell has rung more often than `seen`; returns the time of the last ring.
  std::int64_t wait(std::uint32_t seen) {
    while (rings.load(std::memory_order_acquire) == seen)
      ::syscall(SYS_futex, &rings, FUTEX_WAIT, seen, nullptr, nullptr, 0);
    return rung_at.load(std::memory_order_relaxed);
  }
};

}  // namespace

int run_futex(const Task& task) {
  const SharedMemory memory(sizeof(Doorbell));
  Doorbell& bell = *new (memory.data()) Doorbell;
  const bool well = run_pair(
      task,
      [&] {
        Pauses pauses(task.seed);
        for (const CoreUse use; use.seconds() < idle_seconds_of(task);) {
          pauses.sleep();
          bell.ring(base::now_ns());
        }
        pauses.sleep();
        bell.ring(0);
        print({.role = "sender", .value = 0});
      },
      [&] {
        std::vector<double> times;
        for (std::uint32_t seen = 0;; ++seen) {
          const std::int64_t rung_at = bell.wait(seen);
          const std::int64_t now = base::now_ns();
          if (rung_at == 0) break;
          times.push_back(static_cast<double>(now - rung_at));
        }
        print(wake_up_outcome(std::move(times)));
      });
  return well ? 0 : 1;
}

}  // namespace weft::tools::perf
