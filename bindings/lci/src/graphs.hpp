// Completion graphs whose edges carry functions.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "completions.hpp"

namespace lci {

class GraphCompletion;

struct GraphNode;
struct GraphEdge {
  GraphNode* to;
  graph_edge_run_cb_t function;
};
struct GraphNode {
  GraphCompletion* graph = nullptr;
  graph_node_run_cb_t run = nullptr;
  void* value = nullptr;
  graph_node_free_cb_t release = nullptr;
  std::vector<GraphEdge> out;
  int incoming = 0;
  std::atomic<int> missing{0};      // nodes before it that are not complete in this round
  GraphNode* next_ready = nullptr;  // in the list of one call of GraphCompletion::complete
};

/// Nodes whose functions answered retry, of all graphs. They are run again by graph_test() and by progress.
class RefusedNodes {
 public:
  [[nodiscard]] static bool any() noexcept { return count_.load(std::memory_order_relaxed) != 0; }
  static void add(GraphNode& node);
  static void run_again();
  /// The graph is freed: its nodes are not to be run any more.
  static void remove(const GraphCompletion& graph) noexcept;

 private:
  static std::atomic<std::size_t> count_;
};

class GraphCompletion final : public OwnCompletion, public weft::Completion {
 public:
  /// `signalled`: an object that is signalled at the end, when the graph frees itself; or null.
  GraphCompletion(const comp_attr_t& attributes, const comp_t& signalled);
  ~GraphCompletion() override;

  [[nodiscard]] GraphNode& add_node(graph_node_run_cb_t function, void* value, graph_node_free_cb_t release);
  void add_edge(graph_node_t from, graph_node_t to, graph_edge_run_cb_t function);
  void start();
  /// True once for each round that has ended.
  [[nodiscard]] bool test();
  /// Runs what depends on the node, unless something else is missing. The graph may be gone afterwards.
  void complete(GraphNode& node, const status_t& status);
  /// Runs a node, and what depends on it.
  void run(GraphNode& node);

  void signal(status_t status) override;
  void signal(weft::Message& message) noexcept override { signal(delivery().status_of(message)); }
  [[nodiscard]] bool ready() const noexcept override { return has_ended_.load(std::memory_order_acquire); }

 private:
  [[nodiscard]] GraphNode& node_of(graph_node_t handle);
  void finish(GraphNode& node, const status_t& status, GraphNode*& ready);
  void run_into(GraphNode& node, GraphNode*& ready);
  void run_all(GraphNode* ready);

  std::vector<std::unique_ptr<GraphNode>> nodes_;
  GraphNode start_;
  GraphNode end_;
  const comp_t signalled_;
  std::atomic<bool> runs_{false};
  std::atomic<bool> has_ended_{false};
};

}  // namespace lci
