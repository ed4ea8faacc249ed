#include "run/ranks/binding.hpp"

namespace weft::tools::run {

std::vector<int> processors_of(const Topology& host, Binding binding, int local_rank, int count) {
  const auto index = static_cast<std::size_t>(local_rank);
  if (binding == Binding::core && !host.cores.empty())
    return host.cores[index % host.cores.size()].processors;
  if (binding != Binding::node || host.cores.empty()) return {};
  const std::vector<int> nodes = numa_nodes_of(host);
  return processors_of_node(host, nodes[index * nodes.size() / static_cast<std::size_t>(count)]);
}

}  // namespace weft::tools::run
