#include "perf/probe.hpp"

#include <algorithm>
#include <thread>

#include "base/clock.hpp"
#include "perf/line.hpp"
#include "perf/pinning.hpp"

namespace weft::tools::perf {

double probe_machine(const std::vector<int>& processors) {
  constexpr std::uint64_t kRoundTrips = 200;  // of a batch
  constexpr std::size_t kBatches = 60;
  constexpr double kLimit = 0.1;  // seconds, on a machine that has other work
  Line line;
  std::vector<double> batches;
  // Both ends are threads of their own: the caller stays unbound.
  std::thread second{[&] {
    pin_thread(processors, 1);
    line.answer();
  }};
  std::thread first{[&] {
    pin_thread(processors, 0);
    const base::Deadline deadline(kLimit);
    line.ping(kRoundTrips);
    do {
      const std::int64_t start = base::now_ns();
      line.ping(kRoundTrips);
      batches.push_back(static_cast<double>(base::now_ns() - start) / kRoundTrips / 2);
    } while (batches.size() < kBatches && !deadline.passed());
    line.end();
  }};
  first.join();
  second.join();
  std::ranges::nth_element(batches, batches.begin() + static_cast<std::ptrdiff_t>(batches.size() / 2));
  return batches[batches.size() / 2];
}

MachineState majority_state(std::vector<double> probes) {
  constexpr double kNear = 1.12;   // probes of one state lie as close to many others ...
  constexpr double kShare = 0.02;  // ... as this share of all
  constexpr double kGap = 1.3;     // between two neighbours of different states
  std::ranges::sort(probes);
  // What lies alone is of no state: the machine changed while it was probed.
  const double enough = kShare * static_cast<double>(probes.size());
  std::vector<double> crowded;
  for (const double each : probes) {
    const auto begin = std::ranges::lower_bound(probes, each / kNear);
    const auto end = std::ranges::upper_bound(probes, each * kNear);
    if (static_cast<double>(end - begin) >= enough) crowded.push_back(each);
  }
  MachineState best;
  std::size_t most = 0;
  for (std::size_t first = 0; first < crowded.size();) {
    std::size_t behind = first + 1;
    while (behind < crowded.size() && crowded[behind] <= kGap * crowded[behind - 1]) ++behind;
    if (behind - first > most) {
      most = behind - first;
      best = {crowded[first], crowded[behind - 1]};
    }
    first = behind;
  }
  return best;
}

}  // namespace weft::tools::perf
