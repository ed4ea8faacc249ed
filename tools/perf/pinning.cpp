#include "perf/pinning.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <sched.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/topology.hpp"

namespace weft::tools::perf {

std::vector<int> choose_processors() {
  const base::Topology topology = base::read_topology();
  if (topology.cores.empty()) return {};
  const base::Core& first = topology.cores.front();
  for (const bool near : {true, false}) {
    for (const base::Core& core : topology.cores) {
      if (&core == &first || (near && core.numa_node != first.numa_node)) continue;
      return {first.processors.front(), core.processors.front()};
    }
  }
  if (first.processors.size() < 2) return {};
  return {first.processors[0], first.processors[1]};
}

void pin_thread(const std::vector<int>& processors, std::size_t index) {
  if (index >= processors.size()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processors[index], &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    throw Error(
        fmt::format("cannot bind a thread to processor {}: {}", processors[index], std::strerror(errno)));
  }
}

int rank_from_environment() {
  const char* rank = std::getenv("WEFT_RANK");
  return rank == nullptr ? 0 : std::atoi(rank);
}

}  // namespace weft::tools::perf
