#pragma once

#include <cstdint>

#include "perf/stopwatch.hpp"

namespace weft::tools::perf {

struct Latency {
  double one_way_ns = 0;
  double core_share = 1;
  std::uint64_t round_trips = 0;
};

/// Calls `batch(n)`, which makes n round trips, for the given time after a warm-up.
template <class Batch>
Latency measure_round_trips(double seconds, const Batch& batch) {
  constexpr std::uint64_t kPerLook = 256;
  for (const Stopwatch warming; warming.seconds() < warm_up_of(seconds);) batch(kPerLook);
  std::uint64_t count = 0;
  const Stopwatch timed;
  do {
    batch(kPerLook);
    count += kPerLook;
  } while (timed.seconds() < seconds);
  const double elapsed = timed.seconds();
  return {elapsed * 1e9 / static_cast<double>(count) / 2, timed.core_share(), count};
}

}  // namespace weft::tools::perf
