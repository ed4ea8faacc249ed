#pragma once

#include <vector>

namespace weft::tools::perf {

/// The state of the machine in one number: nanoseconds that a cache line takes from one core to the other, by
/// a ping-pong of a few milliseconds. Virtual machines move between core placements that differ by factors.
double probe_machine(const std::vector<int>& processors);

/// The range of one state: what most probes of a run belong to.
struct MachineState {
  double low_ns = 0;
  double high_ns = 0;
  [[nodiscard]] bool contains(double ns) const { return ns >= low_ns && ns <= high_ns; }
};
MachineState majority_state(std::vector<double> probes);

}  // namespace weft::tools::perf
