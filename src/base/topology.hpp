#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::base {

/// One core and the logical processors of it that this process may use, ascending.
struct Core {
  int package = 0;
  int numa_node = 0;
  std::vector<int> processors;
};

/// What the process may run on. Only cores with at least one allowed processor are listed.
struct Topology {
  std::string source;     ///< what it was read with: "hwloc, interface 2.8" or "affinity mask"
  std::string processor;  ///< model name, empty when unknown
  int packages = 1;
  int numa_nodes = 1;
  std::uint64_t memory_bytes = 0;
  std::uint64_t l2_bytes = 0;  ///< of one core's L2 cache, 0 when unknown
  std::uint64_t l3_bytes = 0;  ///< of one L3 cache, 0 when unknown
  std::vector<Core> cores;
};

/// Takes a few milliseconds. Throws weft::Error when the topology cannot be read.
Topology read_topology();

}  // namespace weft::base
