#include "graphs.hpp"

namespace lci {

namespace {
std::mutex refused_mutex;
std::vector<GraphNode*> refused_nodes;
}  // namespace

std::atomic<std::size_t> RefusedNodes::count_{0};

void RefusedNodes::add(GraphNode& node) {
  const std::lock_guard lock(refused_mutex);
  refused_nodes.push_back(&node);
  count_.store(refused_nodes.size(), std::memory_order_relaxed);
}

void RefusedNodes::run_again() {
  std::vector<GraphNode*> nodes;
  {
    const std::lock_guard lock(refused_mutex);
    nodes.swap(refused_nodes);
    count_.store(0, std::memory_order_relaxed);
  }
  for (GraphNode* const node : nodes) node->graph->run(*node);
}

void RefusedNodes::remove(const GraphCompletion& graph) noexcept {
  const std::lock_guard lock(refused_mutex);
  std::erase_if(refused_nodes, [&graph](const GraphNode* node) { return node->graph == &graph; });
  count_.store(refused_nodes.size(), std::memory_order_relaxed);
}

GraphCompletion::GraphCompletion(const comp_attr_t& attributes, const comp_t& signalled)
    : OwnCompletion(attributes), signalled_(signalled) {
  attach(*this);
  start_.graph = end_.graph = this;
}

GraphCompletion::~GraphCompletion() {
  retire();
  if (RefusedNodes::any()) RefusedNodes::remove(*this);
  for (const auto& node : nodes_)
    if (node->release != nullptr) node->release(node->value);
}

GraphNode& GraphCompletion::node_of(graph_node_t handle) {
  if (handle == GRAPH_START) return start_;
  if (handle == GRAPH_END) return end_;
  if (handle == nullptr) refuse("graph_add_edge: a node is null");
  GraphNode& node = *static_cast<GraphNode*>(handle);
  if (node.graph != this) refuse("graph_add_edge: a node belongs to another graph");
  return node;
}

GraphNode& GraphCompletion::add_node(graph_node_run_cb_t function, void* value,
                                     graph_node_free_cb_t release) {
  if (runs_.load(std::memory_order_relaxed)) refuse("graph_add_node: the graph has been started");
  auto node = std::make_unique<GraphNode>();
  node->graph = this;
  node->run = function;
  node->value = value;
  node->release = release;
  return *nodes_.emplace_back(std::move(node));
}

void GraphCompletion::add_edge(graph_node_t from, graph_node_t to, graph_edge_run_cb_t function) {
  if (runs_.load(std::memory_order_relaxed)) refuse("graph_add_edge: the graph has been started");
  GraphNode& source = node_of(from);
  GraphNode& target = node_of(to);
  if (&source == &end_ || &target == &start_ || &source == &target)
    refuse(std::string("graph_add_edge: an edge ") +
           (&source == &end_     ? "from GRAPH_END"
            : &target == &start_ ? "to GRAPH_START"
                                 : "from a node to itself") +
           ": such a graph never ends");
  source.out.push_back({&target, function});
  ++target.incoming;
}

void GraphCompletion::start() {
  if (runs_.exchange(true, std::memory_order_acquire)) refuse("graph_start: the graph runs already");
  has_ended_.store(false, std::memory_order_relaxed);
  for (const auto& node : nodes_) node->missing.store(node->incoming, std::memory_order_relaxed);
  end_.next_ready = nullptr;
  end_.missing.store(end_.incoming, std::memory_order_relaxed);
  const bool has_end = end_.incoming != 0;
  complete(start_, status_t(errorcode_t::done));
  if (!has_end) run_all(&end_);  // nothing is waited for
}

bool GraphCompletion::test() {
  if (RefusedNodes::any()) RefusedNodes::run_again();
  if (!has_ended_.exchange(false, std::memory_order_acquire)) return false;
  runs_.store(false, std::memory_order_release);
  return true;
}

void GraphCompletion::finish(GraphNode& node, const status_t& status, GraphNode*& ready) {
  for (const GraphEdge& edge : node.out) {
    if (edge.function != nullptr) edge.function(status, node.value, edge.to->value);
    if (edge.to->missing.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    edge.to->next_ready = ready;
    ready = edge.to;
  }
}

void GraphCompletion::run_into(GraphNode& node, GraphNode*& ready) {
  const status_t status = node.run != nullptr ? node.run(node.value) : status_t(errorcode_t::done);
  // Posted: another thread may have completed the node, and freed the graph.
  if (status.is_posted()) return;
  if (status.is_retry())
    RefusedNodes::add(node);
  else
    finish(node, status, ready);
}

void GraphCompletion::run_all(GraphNode* ready) {
  bool has_ended = false;
  while (ready != nullptr) {
    GraphNode& node = *ready;
    ready = node.next_ready;
    if (&node == &end_)
      has_ended = true;
    else
      run_into(node, ready);
  }
  if (!has_ended) return;
  if (signalled_.is_empty()) {
    has_ended_.store(true, std::memory_order_release);
    notify_waiters_of(this);
    return;
  }
  const comp_t signalled = signalled_;
  delete this;
  signalled.p_impl->signal(status_t(errorcode_t::done));
}

void GraphCompletion::complete(GraphNode& node, const status_t& status) {
  GraphNode* ready = nullptr;
  finish(node, status, ready);
  run_all(ready);
}

void GraphCompletion::run(GraphNode& node) {
  GraphNode* ready = nullptr;
  run_into(node, ready);
  if (ready != nullptr) run_all(ready);
}

void GraphCompletion::signal(status_t status) {
  if (status.user_context == nullptr) {
    std::fputs("lci: a graph was signalled without a node: user_context must be the node\n", stderr);
    std::abort();
  }
  complete(*static_cast<GraphNode*>(status.user_context), status);
}

namespace {
GraphCompletion& graph_of(const comp_t& comp, const char* operation) {
  return of_kind<GraphCompletion>(comp, attr_comp_type_t::graph, operation);
}
}  // namespace

comp_t alloc_graph_x::call() const {
  comp_attr_t attr;
  attr.comp_type = attr_comp_type_t::graph;
  attr.user_context = m_user_context;
  return comp_t(static_cast<comp_impl_t*>(std::make_unique<GraphCompletion>(attr, m_comp).release()));
}
graph_node_t graph_add_node_x::call() const {
  return &graph_of(m_comp, "graph_add_node").add_node(m_fn, m_value, m_free_cb);
}
void graph_add_edge_x::call() const { graph_of(m_comp, "graph_add_edge").add_edge(m_src, m_dst, m_fn); }
void graph_node_mark_complete_x::call() const {
  if (m_node == nullptr || m_node == GRAPH_START || m_node == GRAPH_END)
    refuse("graph_node_mark_complete: it must be a node that graph_add_node() has returned");
  GraphNode& node = *static_cast<GraphNode*>(m_node);
  node.graph->complete(node, m_status);
}
void graph_start_x::call() const { graph_of(m_comp, "graph_start").start(); }
status_t graph_test_x::call() const {
  return status_t(graph_of(m_comp, "graph_test").test() ? errorcode_t::done : errorcode_t::retry);
}

}  // namespace lci
