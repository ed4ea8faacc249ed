#include <weft_c/graph.h>

#include "objects.hpp"
#include "post_options.hpp"

#include <weft/completion/graph.hpp>

#include <vector>

using namespace weft::c;

struct weft_graph : Handle<HandleKind::graph> {
  weft_graph()
      : completion(
            std::make_unique<weft_completion>(weft_completion::Kind::graph, std::make_unique<weft::Graph>())),
        graph(static_cast<weft::Graph&>(*completion->object)) {}
  const std::unique_ptr<weft_completion> completion;
  weft::Graph& graph;
  std::vector<weft::Graph::Node> nodes;
};

namespace {

weft::Graph& graph_in(const weft_graph* graph) { return present(graph, "graph").graph; }

weft::Graph::Node node_in(const weft_graph& graph, uint32_t node, const char* name) {
  if (node >= graph.nodes.size())
    throw BadArgument(std::string(name) + " is " + std::to_string(node) + ": the graph has " +
                      std::to_string(graph.nodes.size()) + " nodes");
  return graph.nodes[node];
}

template <class Add>
weft_result add_node(const char* function, weft_graph* graph, uint32_t* node, const Add& add) noexcept {
  return guarded(function, [&] {
    present(graph, "graph");
    graph->nodes.push_back(add(graph->graph));
    if (node != nullptr) *node = graph->nodes.back().index();
    return WEFT_OK;
  });
}

/// The options of a node, which the graph completes.
template <class Own>
Own of_node(const weft_options* given, Own own) {
  const weft_options options = options_of(given, "options");
  if (options.completion != nullptr || options.user_data != nullptr || options.handle != nullptr ||
      options.send_handle != nullptr)
    throw BadArgument("options has a completion, user_data or a handle: a node of a graph has none");
  own.may_retry = false;
  own.may_complete_now = true;
  return own;
}

/// A node that posts by `post(endpoint, options)`.
template <class Own, class Post>
weft::Graph::Node add_post(weft::Graph& graph, weft_endpoint* endpoint, const Own& own, const Post& post) {
  present(endpoint, "endpoint");
  return graph.add([endpoint, own = Own(own), post](weft::Completion& node) mutable {
    own.completion = &node;
    return with(endpoint, [&](auto& there) { return post(there, own); });
  });
}

/// The tag of a node, and what it is in.
struct NodeTag {
  weft_options options{};
  uint64_t tag = 0;
  template <class Call>
  decltype(auto) operator()(const Call& call) const {
    if (options.context == nullptr) return call(tag);
    return call(tag_in_context(options, tag));
  }
};

NodeTag checked_tag(const weft_options* given, uint64_t tag) {
  const NodeTag what{options_of(given, "options"), tag};
  what([](const auto&) {});  // throws now rather than when the node begins
  return what;
}

}  // namespace

extern "C" {

weft_result weft_graph_create(weft_graph** graph) {
  return create(__func__, graph, "graph", [] { return std::make_unique<weft_graph>(); });
}

weft_result weft_graph_destroy(weft_graph* graph) { return destroy(__func__, graph, "graph"); }

weft_result weft_graph_add_send(weft_graph* graph, weft_endpoint* endpoint, int peer, uint64_t tag,
                                const void* data, size_t size, const weft_options* options, uint32_t* node) {
  return add_node(__func__, graph, node, [&](weft::Graph& own) {
    return add_post(own, endpoint, of_node(options, send_options(options)),
                    [peer, tag = checked_tag(options, tag), bytes = bytes_at(data, size, "data")](
                        auto& there, const weft::SendOptions& how) {
                      return tag([&](const auto& what) { return there.post_send(peer, what, bytes, how); });
                    });
  });
}

weft_result weft_graph_add_receive(weft_graph* graph, weft_endpoint* endpoint, int source, uint64_t tag,
                                   void* buffer, size_t size, const weft_options* options, uint32_t* node) {
  return add_node(__func__, graph, node, [&](weft::Graph& own) {
    return add_post(
        own, endpoint, of_node(options, receive_options(options)),
        [source, tag = checked_tag(options, tag), room = buffer_at(buffer, size, "buffer")](
            auto& there, const weft::ReceiveOptions& how) {
          return tag([&](const auto& what) { return there.post_receive(source, what, room, how); });
        });
  });
}

weft_result weft_graph_add_am(weft_graph* graph, weft_endpoint* endpoint, int peer, weft_remote remote,
                              const void* data, size_t size, const weft_options* options, uint32_t* node) {
  return add_node(__func__, graph, node, [&](weft::Graph& own) {
    return add_post(own, endpoint, of_node(options, active_message_options(options)),
                    [peer, remote, bytes = bytes_at(data, size, "data")](
                        auto& there, const weft::ActiveMessageOptions& how) {
                      return there.post_am(peer, remote_of(remote), bytes, how);
                    });
  });
}

weft_result weft_graph_add_put(weft_graph* graph, weft_endpoint* endpoint, int peer,
                               const weft_remote_region* to, uint64_t offset, const void* from, size_t size,
                               const weft_options* options, uint32_t* node) {
  return add_node(__func__, graph, node, [&](weft::Graph& own) {
    return add_post(
        own, endpoint, of_node(options, access_options(options)),
        [peer, where = address_of(to, offset, "to"), bytes = bytes_at(from, size, "from")](
            auto& there, const weft::AccessOptions& how) { return there.post_put(peer, where, bytes, how); });
  });
}

weft_result weft_graph_add_get(weft_graph* graph, weft_endpoint* endpoint, int peer,
                               const weft_remote_region* from, uint64_t offset, void* to, size_t size,
                               const weft_options* options, uint32_t* node) {
  return add_node(__func__, graph, node, [&](weft::Graph& own) {
    return add_post(
        own, endpoint, of_node(options, access_options(options)),
        [peer, where = address_of(from, offset, "from"), room = buffer_at(to, size, "to")](
            auto& there, const weft::AccessOptions& how) { return there.post_get(peer, where, room, how); });
  });
}

weft_result weft_graph_add_function(weft_graph* graph, weft_graph_function function, void* context,
                                    uint32_t* node) {
  return add_node(__func__, graph, node, [&](weft::Graph& own) {
    if (function == nullptr) throw BadArgument("function is null");
    return own.add_function([function, context] { return outcome_of(function(context)); });
  });
}

weft_result weft_graph_add_graph(weft_graph* graph, weft_graph* inner, uint32_t* node) {
  return add_node(__func__, graph, node,
                  [&](weft::Graph& own) { return own.add_graph(present(inner, "inner").graph); });
}

weft_result weft_graph_order(weft_graph* graph, uint32_t before, uint32_t after) {
  return guarded(__func__, [&] {
    weft::Graph& own = graph_in(graph);
    own.order(node_in(*graph, before, "before"), node_in(*graph, after, "after"));
    return WEFT_OK;
  });
}

weft_result weft_graph_set_completion(weft_graph* graph, weft_completion* completion, void* user_data) {
  return guarded(__func__, [&] {
    graph_in(graph).set_completion(completion_in(completion, "completion"), user_data);
    return WEFT_OK;
  });
}

weft_completion* weft_graph_completion(weft_graph* graph) {
  return guarded_or<weft_completion*>(__func__, nullptr,
                                      [&] { return present(graph, "graph").completion.get(); });
}

weft_result weft_graph_prepare(weft_graph* graph) {
  return guarded(__func__, [&] {
    graph_in(graph).prepare();
    return WEFT_OK;
  });
}

weft_result weft_graph_start(weft_graph* graph) {
  return guarded(__func__, [&]() -> weft_result {
    graph_in(graph).start();
    return WEFT_POSTED;
  });
}

int weft_graph_test(weft_graph* graph) {
  return guarded(__func__, [&] { return graph_in(graph).test() ? 1 : 0; });
}

weft_result weft_graph_wait(weft_graph* graph, weft_endpoint* endpoint, int64_t timeout_ns) {
  return guarded(__func__, [&] {
    weft::Graph& own = graph_in(graph);
    const bool has_ended = with_endpoint_or_stream(endpoint, [&](auto& there) {
      if (timeout_ns == 0) {
        static_cast<void>(there.wait(own));
        return true;
      }
      const auto timeout = weft::Timeout::of_nanoseconds(timeout_ns);
      return there.wait_for([&] { return own.test(); }, timeout);
    });
    return has_ended ? result_of(own.outcome()) : WEFT_TIMED_OUT;
  });
}

weft_result weft_graph_outcome(const weft_graph* graph) {
  return guarded(__func__, [&] { return result_of(graph_in(graph).outcome()); });
}

weft_result weft_graph_node_outcome(const weft_graph* graph, uint32_t node) {
  return guarded(__func__, [&] {
    const weft::Graph& own = graph_in(graph);
    return result_of(own.outcome(node_in(*graph, node, "node")));
  });
}

}  // extern "C"
