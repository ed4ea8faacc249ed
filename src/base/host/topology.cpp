// Choosing processors, and binding threads to them.
#include <weft/error.hpp>
#include <weft/topology.hpp>

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

namespace weft {

std::vector<int> numa_nodes_of(const Topology& topology) {
  std::set<int> nodes;
  for (const Topology::Core& core : topology.cores) nodes.insert(core.numa_node);
  return {nodes.begin(), nodes.end()};
}

std::vector<int> processors_of_node(const Topology& topology, int numa_node) {
  std::vector<int> processors;
  for (const Topology::Core& core : topology.cores)
    if (core.numa_node == numa_node)
      processors.insert(processors.end(), core.processors.begin(), core.processors.end());
  if (processors.empty()) {
    std::string known;
    for (const int node : numa_nodes_of(topology))
      known += (known.empty() ? "" : ", ") + std::to_string(node);
    throw Error(ErrorClass::system, "NUMA node " + std::to_string(numa_node) +
                                        " has no core that this process may use; those that have: " +
                                        (known.empty() ? "none" : known));
  }
  std::sort(processors.begin(), processors.end());
  return processors;
}

std::vector<int> processors_for(const Topology& topology, int rank_on_host, int ranks_on_host, int thread,
                                int threads) {
  const auto check = [](const char* what, int number, int count) {
    if (count < 1 || number < 0 || number >= count)
      throw Error(ErrorClass::system, std::string("processors_for: ") + what + " " + std::to_string(number) +
                                          " of " + std::to_string(count) + " is out of range");
  };
  check("rank", rank_on_host, ranks_on_host);
  check("thread", thread, threads);
  if (topology.cores.empty()) throw Error(ErrorClass::system, "processors_for: the topology has no core");
  std::vector<const Topology::Core*> cores;
  for (const Topology::Core& core : topology.cores) cores.push_back(&core);
  std::stable_sort(cores.begin(), cores.end(), [](const Topology::Core* a, const Topology::Core* b) {
    return a->numa_node < b->numa_node;
  });
  const std::size_t count = cores.size();
  const auto share = [&](int rank) {
    return count * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks_on_host);
  };
  const std::size_t first = share(rank_on_host);
  const std::size_t width = std::max(std::size_t{1}, share(rank_on_host + 1) - first);
  const std::size_t index =
      first + width * static_cast<std::size_t>(thread) / std::max(width, static_cast<std::size_t>(threads));
  return cores[index]->processors;
}

void bind_thread(std::span<const int> processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string text;
  for (const int processor : processors) {
    if (processor < 0 || processor >= CPU_SETSIZE)
      throw Error(ErrorClass::system, "bind_thread: processor " + std::to_string(processor) +
                                          " is out of range: 0 to " + std::to_string(CPU_SETSIZE - 1));
    CPU_SET(static_cast<std::size_t>(processor), &set);
    text += (text.empty() ? "" : ", ") + std::to_string(processor);
  }
  if (processors.empty()) throw Error(ErrorClass::system, "bind_thread: the list of processors is empty");
  const auto refuse = [&](const char* why) {
    throw Error(ErrorClass::system,
                "bind_thread: the calling thread cannot run on processors " + text + ": " + why);
  };
  const char* const not_all = "the process may not use all of them";
  cpu_set_t before;
  if (::sched_getaffinity(0, sizeof before, &before) != 0) refuse(std::strerror(errno));
  if (::sched_setaffinity(0, sizeof set, &set) != 0) refuse(errno == EINVAL ? not_all : std::strerror(errno));
  // The kernel silently drops processors that the process may not use, if others remain.
  cpu_set_t now;
  if (::sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &set)) return;
  ::sched_setaffinity(0, sizeof before, &before);
  refuse(not_all);
}

}  // namespace weft
