// The processors that a process may use, and functions that choose and bind processors for its threads.
#pragma once

#include <weft/detail/export.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// The cores that the process may run on. Only cores with at least one allowed processor are listed.
struct Topology {
  /// A core, with those of its logical processors that this process may use, ascending.
  struct Core {
    int package = 0;
    int numa_node = 0;  ///< as the kernel numbers them
    std::vector<int> processors;
  };

  std::string source;     ///< the source of the data: "hwloc, interface 2.8" or "affinity mask"
  std::string processor;  ///< model name, empty when unknown
  int packages = 1;
  int numa_nodes = 1;  ///< of the host
  std::uint64_t memory_bytes = 0;
  std::uint64_t l2_bytes = 0;  ///< of one core's L2 cache, 0 when unknown
  std::uint64_t l3_bytes = 0;  ///< of one L3 cache, 0 when unknown
  std::vector<Core> cores;
};

/// Reads the topology anew, in a few milliseconds. Any thread. Throws weft::Error when it cannot be read.
[[nodiscard]] WEFT_API Topology read_topology();

/// The nodes that have cores in `topology`, ascending.
[[nodiscard]] WEFT_API std::vector<int> numa_nodes_of(const Topology& topology);
/// The processors of all cores of one node in `topology`, ascending. Throws weft::Error when there are none.
[[nodiscard]] WEFT_API std::vector<int> processors_of_node(const Topology& topology, int numa_node);
/// The processors for thread `thread` of the `threads` threads of rank `rank_on_host`, one of `ranks_on_host`
/// ranks on this host: those of one core, so that the threads of a rank are on neighbouring cores, hence on
/// one node if they fit, and cores are shared only when there are more threads than cores. Throws weft::Error
/// for a number out of range.
[[nodiscard]] WEFT_API std::vector<int> processors_for(const Topology& topology, int rank_on_host,
                                                       int ranks_on_host, int thread = 0, int threads = 1);

/// Binds the calling thread to these processors. The kernel takes memory from the node of the thread that
/// writes to it first: threads that are bound before they open their device and post have lanes, packets and
/// completion objects near them. Throws weft::Error when the list is empty or the process may not use one of
/// them (sched_setaffinity(2)); the thread's binding is then unchanged.
WEFT_API void bind_thread(std::span<const int> processors);

}  // namespace weft
