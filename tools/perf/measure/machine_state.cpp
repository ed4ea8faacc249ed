#include "perf/measure/machine_state.hpp"

#include <algorithm>

namespace weft::tools::perf {

MachineState majority_state(std::vector<double> probes) {
  constexpr double kNear = 1.12;   // a probe of a state has within this factor many probes ...
  constexpr double kShare = 0.02;  // ... at least this share of all
  constexpr double kGap = 1.3;     // factor between two neighbours of different states
  std::ranges::sort(probes);
  // A probe without neighbours belongs to no state: the machine changed while it was probed.
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
