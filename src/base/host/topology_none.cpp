// Built instead of topology_hwloc.cpp when hwloc is absent: every allowed processor counts as a core.
#include <weft/error.hpp>
#include <weft/topology.hpp>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft {

Topology read_topology() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    throw Error(ErrorClass::system, std::string("the processors that this process may use cannot be read: ") +
                                        std::strerror(errno));
  }
  Topology topology;
  topology.source = "affinity mask";
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(static_cast<std::size_t>(processor), &allowed))
      topology.cores.push_back({.processors = {processor}});
  }
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0)
    topology.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  topology.l2_bytes = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE)));
  topology.l3_bytes = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE)));
  return topology;
}

}  // namespace weft
