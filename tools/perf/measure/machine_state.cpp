#include "perf/measure/machine_state.hpp"

#include <algorithm>
#include <functional>

namespace weft::tools::perf {

std::vector<MachineState> machine_states(std::vector<double> probes) {
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
  std::vector<MachineState> states;
  for (std::size_t first = 0; first < crowded.size();) {
    std::size_t behind = first + 1;
    while (behind < crowded.size() && crowded[behind] <= kGap * crowded[behind - 1]) ++behind;
    states.push_back({crowded[first], crowded[behind - 1], behind - first});
    first = behind;
  }
  std::ranges::stable_sort(states, std::greater{}, &MachineState::probes);
  return states;
}

std::string_view distance_of(const MachineState& state) {
  // Between 31 to 69 ns, which neighbours of one chip take, and 150 to 290.
  constexpr double kFar = 100;
  return (state.low_ns + state.high_ns) / 2 < kFar ? "near" : "far";
}

}  // namespace weft::tools::perf
