#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "common/stopwatch.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {

struct Latency {
  double one_way_ns = 0;
  double core_share = 1;
  std::uint64_t round_trips = 0;
  /// Half of the median round trip, and half of the round trips that 1 % and 0.1 % exceed. Each is timed by
  /// itself, apart from the mean, and includes the time of reading the clock.
  std::vector<double> percentiles_ns{};
};

/// The 50th, 99th and 99.9th percentile.
inline std::vector<double> percentiles_of(std::vector<float> times) {
  if (times.empty()) return {};
  std::ranges::sort(times);
  std::vector<double> percentiles;
  for (const double share : {0.5, 0.99, 0.999})
    percentiles.push_back(times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))]);
  return percentiles;
}

/// Calls `trip` for the given time, at least once, and returns the duration of each call in nanoseconds.
template <class Trip>
std::vector<float> time_singly(double seconds, const Trip& trip) {
  constexpr std::size_t kRoom = std::size_t{1} << 16;
  std::vector<float> times;
  times.reserve(kRoom);
  const std::int64_t end = base::now_ns() + base::seconds_to_ns(seconds);
  std::int64_t start = base::now_ns();
  do {
    trip();
    const std::int64_t now = base::now_ns();
    times.push_back(static_cast<float>(now - start));
    start = now;
  } while (start < end);
  return times;
}

/// Calls `batch(n)`, which makes n round trips, for the given time after a warm-up, and half of that time
/// once more for the percentiles.
template <class Batch>
Latency measure_round_trips(const Task& task, const Batch& batch) {
  constexpr std::uint64_t kPerLook = 256;
  for (const Stopwatch warming; warming.seconds() < task.warm_up;) batch(kPerLook);
  std::uint64_t count = 0;
  const Stopwatch timed;
  do {
    batch(kPerLook);
    count += kPerLook;
  } while (timed.seconds() < task.seconds);
  const double elapsed = timed.seconds();
  const double core_share = timed.core_share();
  Latency latency{elapsed * 1e9 / static_cast<double>(count) / 2, core_share, count};
  latency.percentiles_ns = percentiles_of(time_singly(task.seconds / 2, [&] { batch(1); }));
  for (double& each : latency.percentiles_ns) each /= 2;
  return latency;
}

}  // namespace weft::tools::perf
