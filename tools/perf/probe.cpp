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
  constexpr double kWidth = 1.25;  // how far from its middle a state reaches
  std::ranges::sort(probes);
  MachineState best;
  std::size_t most = 0;
  for (const double middle : probes) {
    const MachineState state{middle / kWidth, middle * kWidth};
    const auto begin = std::ranges::lower_bound(probes, state.low_ns);
    const auto end = std::ranges::upper_bound(probes, state.high_ns);
    if (const auto count = static_cast<std::size_t>(end - begin); count > most) {
      most = count;
      best = state;
    }
  }
  return best;
}

}  // namespace weft::tools::perf
