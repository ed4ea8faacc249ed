// Ping-pong with one message under way, by every thread with its partner of the other rank.
#pragma once

#include <cstring>

#include "perf/measure/round_trips.hpp"
#include "perf/workloads/sends_and_receives.hpp"

namespace weft::tools::perf {

/// Round trips of 8 bytes per second, first without reading the clock between them, then for half of that
/// time each timed by itself. Rank 0 asks; each side posts its receive before it sends. With several threads
/// both take four times as long as the task says, because shares of a few time slices say little.
template <class Transport>
Outcome run_pair_of_threads(const Task& task, Transport& transport) {
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  constexpr std::uint64_t kPerLook = 16;  // few: an oversubscribed round trip may take a time slice
  const double seconds = task.threads > 1 ? 4 * task.seconds : task.seconds;
  const Compute compute(task);
  ControlWord arriving(transport);
  Outcome outcome;
  if (transport.rank() != 0) {
    outcome.role = "receiver";
    for (arriving.expect();;) {
      const std::uint64_t number = arriving.wait();
      if (number == kEnd) break;
      arriving.expect();
      compute();
      arriving.send(number);
      outcome.messages = number;
    }
    return outcome;
  }
  outcome.role = "sender";
  std::uint64_t number = 0;
  const auto trip = [&] {
    arriving.expect();
    compute();
    arriving.send(++number);
    if (arriving.wait() != number) ++outcome.torn;
  };
  const auto some_trips = [&] {
    for (std::uint64_t i = 0; i < kPerLook; ++i) trip();
  };
  for (const Stopwatch warming; warming.seconds() < task.warm_up;) some_trips();
  const std::uint64_t before = number;
  const Stopwatch watch;
  do some_trips();
  while (watch.seconds() < seconds);
  outcome.value = static_cast<double>(number - before) / watch.seconds();
  outcome.core_share = watch.core_share();
  outcome.round_trips_ns = time_singly(seconds / 2, trip);
  arriving.send(kEnd);
  outcome.messages = number;
  return outcome;
}

}  // namespace weft::tools::perf
