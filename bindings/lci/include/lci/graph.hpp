// Completion graphs.
#ifndef WEFT_LCI_GRAPH_HPP
#define WEFT_LCI_GRAPH_HPP

#include "arguments.hpp"

namespace lci {

/// With `comp` that object is signalled when the graph has ended, and the graph frees itself.
class alloc_graph_x : public arguments::operation<alloc_graph_x, comp_t, arguments::runtime_argument,
                                                  arguments::comp_argument, arguments::name_argument,
                                                  arguments::user_context_argument> {
 public:
  WEFT_LCI_API comp_t call() const;
};
inline comp_t alloc_graph() { return alloc_graph_x().call(); }

class graph_add_node_x : public arguments::operation<graph_add_node_x, graph_node_t,
                                                     arguments::runtime_argument, arguments::comp_argument,
                                                     arguments::fn_argument, arguments::free_cb_argument> {
 public:
  graph_add_node_x(comp_t graph, graph_node_run_cb_t run) {
    m_comp = graph;
    m_fn = run;
  }
  graph_add_node_x&& value(void* given) {
    m_value = given;
    return std::move(*this);
  }
  WEFT_LCI_API graph_node_t call() const;
  void* m_value = nullptr;
};
inline graph_node_t graph_add_node(comp_t comp, graph_node_run_cb_t fn) {
  return graph_add_node_x(comp, fn).call();
}

class graph_add_edge_x : public arguments::operation<graph_add_edge_x, void, arguments::runtime_argument,
                                                     arguments::comp_argument, arguments::src_argument,
                                                     arguments::dst_argument> {
 public:
  graph_add_edge_x(comp_t graph, graph_node_t from, graph_node_t to) {
    m_comp = graph;
    m_src = from;
    m_dst = to;
  }
  /// Called with the status of the source when it is complete, before the destination may run.
  graph_add_edge_x&& fn(graph_edge_run_cb_t run) {
    m_fn = run;
    return std::move(*this);
  }
  WEFT_LCI_API void call() const;
  graph_edge_run_cb_t m_fn = nullptr;
};
inline void graph_add_edge(comp_t comp, graph_node_t src, graph_node_t dst) {
  graph_add_edge_x(comp, src, dst).call();
}

class graph_node_mark_complete_x
    : public arguments::operation<graph_node_mark_complete_x, void, arguments::runtime_argument,
                                  arguments::node_argument, arguments::status_argument> {
 public:
  explicit graph_node_mark_complete_x(graph_node_t completed) { m_node = completed; }
  WEFT_LCI_API void call() const;
};
inline void graph_node_mark_complete(graph_node_t node) { graph_node_mark_complete_x(node).call(); }

class graph_start_x : public arguments::operation<graph_start_x, void, arguments::runtime_argument,
                                                  arguments::comp_argument> {
 public:
  explicit graph_start_x(comp_t graph) { m_comp = graph; }
  WEFT_LCI_API void call() const;
};
inline void graph_start(comp_t comp) { graph_start_x(comp).call(); }

/// done when the graph has ended, which may be started again then; else runs what has to be run again.
class graph_test_x : public arguments::operation<graph_test_x, status_t, arguments::runtime_argument,
                                                 arguments::comp_argument> {
 public:
  explicit graph_test_x(comp_t graph) { m_comp = graph; }
  WEFT_LCI_API status_t call() const;
};
inline status_t graph_test(comp_t comp) { return graph_test_x(comp).call(); }

namespace arguments {

/// What a node makes of the answer of its operation.
inline status_t node_status(const status_t& status) { return status; }
inline status_t node_status(errorcode_t code) { return status_t(code); }
inline status_t node_status(const error_t& error) { return status_t(error.errorcode); }

template <class Op>
auto run_op(Op& op, int) -> decltype(node_status(op())) {
  return node_status(op());
}
/// For operations that answer nothing, or something else: they are done when they return.
template <class Op>
status_t run_op(Op& op, long) {
  static_cast<void>(op());
  return status_t(errorcode_t::done);
}

}  // namespace arguments

/// The functions of nodes whose value is an operation of the type: for graph_add_node_x.
template <class T>
status_t graph_execute_op_fn(void* value) {
  return arguments::run_op(*static_cast<T*>(value), 0);
}
template <class T>
void graph_free_op_fn(void* value) {
  delete static_cast<T*>(value);
}

/// Makes a node of an operation in the fluent form, or of a program's own object with operator() and
/// user_context(): it is given the node as user_context, so that it signals the graph for it.
template <class T>
graph_node_t graph_add_node_op(comp_t graph, const T& op) {
  T* const kept = new T(op);
  const graph_node_run_cb_t run = graph_execute_op_fn<T>;
  const graph_node_free_cb_t release = graph_free_op_fn<T>;
  const graph_node_t node = graph_add_node_x(graph, run).value(kept).free_cb(release)();
  kept->user_context(node);
  return node;
}

}  // namespace lci

#endif
