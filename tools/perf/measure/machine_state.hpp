#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace weft::tools::perf {

/// A state of the machine: the range of the times that a cache line took from one core to the other.
struct MachineState {
  double low_ns = 0;
  double high_ns = 0;
  std::size_t probes = 0;
  [[nodiscard]] bool contains(double ns) const { return ns >= low_ns && ns <= high_ns; }
};
/// The states that the probes of a run belong to; the one of most probes first.
std::vector<MachineState> machine_states(std::vector<double> probes);

/// "near" where the cores share a cache or a part of the chip, "far" where a line crosses more than that.
std::string_view distance_of(const MachineState& state);

}  // namespace weft::tools::perf
