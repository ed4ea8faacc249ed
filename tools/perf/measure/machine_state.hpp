#pragma once

#include <vector>

namespace weft::tools::perf {

/// The range of the state that most probes of a run belong to.
struct MachineState {
  double low_ns = 0;
  double high_ns = 0;
  [[nodiscard]] bool contains(double ns) const { return ns >= low_ns && ns <= high_ns; }
};
MachineState majority_state(std::vector<double> probes);

}  // namespace weft::tools::perf
