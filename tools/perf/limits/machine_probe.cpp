#include "perf/limits/machine_probe.hpp"

#include <algorithm>
#include <thread>

#include "base/clock.hpp"
#include "common/pinning.hpp"
#include "perf/limits/cache_line_limit.hpp"

namespace weft::tools::perf {

double probe_machine(const std::vector<int>& processors) {
  constexpr std::uint64_t kRoundTrips = 200;  // per batch
  constexpr std::size_t kBatches = 60;
  constexpr double kLimit = 0.1;  // seconds, on a machine with other work
  Line line;
  std::vector<double> batches;
  // Both ends are new threads: the caller stays unbound.
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

}  // namespace weft::tools::perf
