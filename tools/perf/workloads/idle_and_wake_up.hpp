// The cost of waiting, and the time until a wait ends, over any transport: rank 1 waits for receives, rank 0
// sleeps.
#pragma once

#include <time.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/clock.hpp"
#include "perf/measure/task.hpp"
#include "perf/workloads/transport.hpp"

namespace weft::tools::perf {

/// A round of waiting takes longer than others, because there is little to measure.
constexpr double idle_seconds_of(const Task& task) { return 4 * task.seconds; }

inline void sleep_for(double seconds) {
  const auto nanoseconds = static_cast<long>(seconds * 1e9);
  timespec left{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) != 0) {
  }
}

/// Processor time of all threads of this process, user and system.
class CoreUse {
 public:
  [[nodiscard]] double seconds() const { return static_cast<double>(base::now_ns() - start_) * 1e-9; }
  /// In percent of the elapsed time.
  [[nodiscard]] double percent() const {
    return 100 * static_cast<double>(processor_ns() - processor_) /
           static_cast<double>(base::now_ns() - start_);
  }

 private:
  static std::int64_t processor_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  }

  std::int64_t processor_ = processor_ns();
  std::int64_t start_ = base::now_ns();
};

/// Makes an outcome of the times of single wake-ups: the figure is the 90th percentile, parts are the 50th,
/// 90th and 99th.
inline Outcome wake_up_outcome(std::vector<double> times_ns) {
  Outcome outcome{.role = "receiver", .value = 0, .messages = times_ns.size()};
  std::ranges::sort(times_ns);
  for (const double share : {0.5, 0.9, 0.99})
    outcome.parts.push_back(
        times_ns.empty()
            ? 0
            : times_ns[static_cast<std::size_t>(share * static_cast<double>(times_ns.size() - 1))]);
  outcome.value = outcome.parts[1];
  return outcome;
}

/// Times at which the next message is sent: late enough that the other rank has parked, and not in step with
/// its clock.
class Pauses {
 public:
  explicit Pauses(std::uint64_t seed) : random_(seed) {}
  void sleep() { sleep_for(std::uniform_real_distribution<double>(3e-3, 7e-3)(random_)); }

 private:
  std::mt19937_64 random_;
};

template <class Transport>
void wait_asleep(Transport& transport) {
  if constexpr (requires { transport.wait_receives_asleep(); }) {
    transport.wait_receives_asleep();
  } else {
    transport.wait_receives();
  }
}

/// The share of a core that rank 1 uses while it waits for a receive.
template <class Transport>
Outcome run_idle(const Task& task, Transport& transport) {
  constexpr std::uint64_t kTag = 16;
  std::uint64_t word = 0;
  if (transport.rank() == 0) {
    sleep_for(idle_seconds_of(task));
    transport.post_send(kTag, std::as_bytes(std::span(&word, 1)));
    transport.wait_sends();
    return {.role = "sender", .value = 0};
  }
  transport.post_receive(kTag, std::as_writable_bytes(std::span(&word, 1)));
  const CoreUse use;
  wait_asleep(transport);
  return {.role = "receiver", .value = use.percent(), .messages = 1};
}

/// The time from a post at rank 0 to the end of the wait for it at rank 1.
template <class Transport>
Outcome run_wake_up(const Task& task, Transport& transport) {
  constexpr std::uint64_t kTag = 16;
  std::int64_t posted = 0;
  if (transport.rank() == 0) {
    Pauses pauses(task.seed);
    for (const CoreUse use; use.seconds() < idle_seconds_of(task);) {
      pauses.sleep();
      posted = base::now_ns();
      transport.post_send(kTag, std::as_bytes(std::span(&posted, 1)));
      transport.wait_sends();
    }
    posted = 0;
    transport.post_send(kTag, std::as_bytes(std::span(&posted, 1)));
    transport.wait_sends();
    return {.role = "sender", .value = 0};
  }
  std::vector<double> times;
  for (;;) {
    transport.post_receive(kTag, std::as_writable_bytes(std::span(&posted, 1)));
    wait_asleep(transport);
    if (posted == 0) break;
    times.push_back(static_cast<double>(base::now_ns() - posted));
  }
  return wake_up_outcome(std::move(times));
}

}  // namespace weft::tools::perf
