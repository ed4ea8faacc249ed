#include "common/pinning.hpp"

#include <weft/topology.hpp>

#include <algorithm>

namespace weft::tools {

namespace {

/// One processor of each core, cores of one NUMA node first; two processors when there is only one core with
/// two.
std::vector<int> all_processors() {
  const Topology topology = read_topology();
  if (topology.cores.empty()) return {};
  const Topology::Core& first = topology.cores.front();
  std::vector<int> all;
  for (const bool near : {true, false})
    for (const Topology::Core& core : topology.cores)
      if ((core.numa_node == first.numa_node) == near) all.push_back(core.processors.front());
  if (all.size() >= 2) return all;
  if (first.processors.size() < 2) return {};
  return {first.processors[0], first.processors[1]};
}

}  // namespace

std::vector<int> choose_processors(std::size_t count) {
  std::vector<int> chosen = all_processors();
  if (!chosen.empty()) chosen.resize(chosen.size() < count ? 2 : count);
  return chosen;
}

std::vector<int> choose_processors_of_ranks(std::size_t count) {
  std::vector<int> chosen = all_processors();
  chosen.resize(std::min(chosen.size(), count));
  return chosen;
}

}  // namespace weft::tools
