// The parts of a graph, kept out of its header.
#pragma once

#include <weft/completion/graph.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace weft {

struct Graph::Parts {
  struct Edge {
    std::uint32_t before;
    std::uint32_t after;
  };

  /// Gives every node its successors; throws weft::Error when there is a circle.
  void connect();
  void check_acyclic() const;

  std::vector<std::unique_ptr<detail::GraphTask>> tasks;
  std::vector<Edge> edges;
  std::vector<detail::GraphTask*> inner;  // the tasks that stand for graphs
  // Valid since the last prepare():
  std::vector<detail::GraphTask*> successors;
  std::vector<detail::GraphTask*> roots;
};

}  // namespace weft
