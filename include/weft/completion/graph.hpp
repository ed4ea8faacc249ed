// Graphs of operations, functions and other graphs, each of which begins when its predecessors have ended.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/completion/graph_node.hpp>
#include <weft/detail/completion_link.hpp>
#include <weft/options.hpp>
#include <weft/remote_region.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace weft {

/// A directed acyclic graph that can be started any number of times: the graph of the LCI paper.
///
///     weft::Graph graph;
///     auto in = graph.add_receive(endpoint, left, tag, halo);
///     auto compute = graph.add_function([&] { step(halo, row); });
///     auto out = graph.add_send(endpoint, right, tag, row);
///     graph.order(in, compute);
///     graph.order(compute, out);
///     graph.start();
///     endpoint.wait(graph);
///
/// A node begins as soon as all its predecessors have ended, in the thread that has ended the last of them;
/// nodes without predecessors begin in start(). A node succeeds with Outcome::ok. Any other outcome fails the
/// graph: its outcome is that of the first node that failed, nodes that have not begun are cancelled, and the
/// graph ends when all nodes that have begun have ended.
///
/// One thread builds and starts a graph; its operations may end in any threads. Between start() and its end a
/// graph must not be changed or started. Building allocates; a graph that has been prepared runs
/// without allocation.
class WEFT_API Graph final : public Completion {
 public:
  /// Names a node of the graph that made it.
  class Node {
   public:
    constexpr Node() noexcept = default;
    /// Nodes are numbered from 0 in the order in which they were added.
    [[nodiscard]] constexpr std::uint32_t index() const noexcept { return index_; }

   private:
    friend class Graph;
    constexpr Node(const Graph* graph, std::uint32_t index) noexcept : graph_(graph), index_(index) {}
    const Graph* graph_ = nullptr;
    std::uint32_t index_ = ~std::uint32_t{0};
  };

  Graph();
  /// If the graph is running, nodes that have not begun are cancelled, nodes that have begun are retired
  /// (Completion::retire), and the end of the run is not signalled.
  ~Graph() override;

  /// Adds a node that posts an operation: `post(Completion& node)` passes `node` on as the operation's
  /// completion object and returns the post's answer. done: the node has ended. posted: it ends when `node`
  /// is signalled, once. retry: `post` is called again by progress(), see test(); with may_retry = false a
  /// post answers that only when even the backlog is full. weft::Error thrown by `post` is reported on
  /// standard error and fails the graph with Outcome::refused.
  template <class Post>
  Node add(Post post) {
    return add(std::move(post), [](Message&) {});
  }
  /// Adds a node that posts an operation, and whose `judge` is called with the message that ends the
  /// operation (also inside handlers, by any thread that progresses); it may return an Outcome, which
  /// replaces the message's. The post must not answer done then: may_complete_now = false.
  template <class Post, class Judge>
  Node add(Post post, Judge judge) {
    return adopt(std::make_unique<detail::PostTask<Post, Judge>>(std::move(post), std::move(judge)));
  }
  /// Adds a node that calls `function()`, which returns nothing or an Outcome, must not wait for other nodes
  /// of the graph, and may run inside progress().
  template <class Function>
  Node add_function(Function function) {
    return adopt(std::make_unique<detail::FunctionTask<Function>>(std::move(function)));
  }
  /// Adds a node that starts another graph and ends with it. `inner` must outlive this graph; it may belong
  /// to several nodes, whose runs then wait for each other.
  Node add_graph(Graph& inner);

  /// From here to add_get(): nodes for the operations of an endpoint, which must outlive the graph. The
  /// arguments are those of the endpoint's post; the graph overrides completion, may_retry and
  /// may_complete_now of the options.
  template <class EndpointType>
  Node add_send(EndpointType& endpoint, int peer, std::uint64_t tag, Bytes bytes, SendOptions options = {}) {
    return add_post(options, [&endpoint, peer, tag, bytes](const SendOptions& with) {
      return endpoint.post_send(peer, tag, bytes, with);
    });
  }
  template <class EndpointType>
  Node add_receive(EndpointType& endpoint, int source, std::uint64_t tag, std::span<std::byte> buffer,
                   ReceiveOptions options = {}) {
    return add_post(options, [&endpoint, source, tag, buffer](const ReceiveOptions& with) {
      return endpoint.post_receive(source, tag, buffer, with);
    });
  }
  template <class EndpointType>
  Node add_am(EndpointType& endpoint, int peer, RemoteCompletion remote, Bytes bytes,
              ActiveMessageOptions options = {}) {
    return add_post(options, [&endpoint, peer, remote, bytes](const ActiveMessageOptions& with) {
      return endpoint.post_am(peer, remote, bytes, with);
    });
  }
  /// `to`: RemoteRegion::at() or MappedRegion::at(), whose region must outlive the graph.
  template <class EndpointType, class Address>
  Node add_put(EndpointType& endpoint, int peer, Address to, Bytes from, AccessOptions options = {}) {
    return add_post(options, [&endpoint, peer, to, from](const AccessOptions& with) {
      return endpoint.post_put(peer, to, from, with);
    });
  }
  template <class EndpointType, class Address>
  Node add_get(EndpointType& endpoint, int peer, Address from, std::span<std::byte> to,
               AccessOptions options = {}) {
    return add_post(options, [&endpoint, peer, from, to](const AccessOptions& with) {
      return endpoint.post_get(peer, from, to, with);
    });
  }

  /// Makes `before` a predecessor of `after`, which does not begin before `before` has ended. Throws
  /// weft::Error for nodes of other graphs, for a node after itself, and while the graph runs.
  void order(Node before, Node after);

  /// Sets the completion object that is signalled at the end of every run, with Operation::graph and the
  /// graph's outcome; nullptr: none. It is signalled after ready() holds. If it is another graph, the signal
  /// starts that graph. When the ends of graphs start others that end at once, few of them nest on a thread:
  /// a graph deeper in such a chain ends, and signals its end, before the call returns that began the chain.
  /// Throws weft::Error while the graph runs.
  void set_completion(Completion* completion, void* user_data = nullptr);

  /// Checks the graph and allocates the memory that runs need, inner graphs included. Throws weft::Error when
  /// nodes wait for each other in a circle, or the graph contains itself. start() calls it when the graph has
  /// changed.
  void prepare();
  /// Begins a run. Returns when all nodes without predecessors have begun, and all nodes that became ready
  /// meanwhile. Throws weft::Error while the graph runs, and the errors of prepare().
  void start();
  /// Posts again the operations that had been refused. Returns true when the run has ended. Does not
  /// progress. A refused node is also tried again by progress of the device that has refused it, and when
  /// another node of the graph ends. (A node whose callable answers retry without a refused post is tried
  /// again by progress of any Endpoint, and by every progress call of the thread that has tried it.) Any
  /// thread that may post with the nodes' endpoints.
  bool test() noexcept;
  /// Returns true when the last run has ended; false before the first run.
  [[nodiscard]] bool ready() const noexcept override {
    // Pairs with the release in finish(): the writes of the nodes are visible.
    return state_.load(std::memory_order_acquire) == State::ended;
  }
  /// The outcome of the last run. That of a run that has failed is to be read before the graph is started
  /// again or destroyed, unless a completion object or another graph is told: a line on standard error tells
  /// otherwise.
  [[nodiscard]] Outcome outcome() const noexcept {
    const Outcome outcome = outcome_.load(std::memory_order_relaxed);
    if (outcome != Outcome::ok) [[unlikely]]
      is_unread_.store(false, std::memory_order_relaxed);
    return outcome;
  }
  /// The outcome of a node in the last run; cancelled: the node was not begun.
  [[nodiscard]] Outcome outcome(Node node) const;
  [[nodiscard]] std::uint32_t size() const noexcept;

  /// Starts the graph, which has been prepared: a graph is a completion object, of a post, of another graph,
  /// or exposed. A message with another outcome than ok ends the run at once with that outcome, all nodes
  /// cancelled. A signal while the graph runs, or before it was prepared, is a mistake of the program: it is
  /// reported on standard error (the first time) and counted by lost().
  void signal(Message& message) noexcept override;
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  friend class detail::GraphTask;
  friend struct detail::GraphRun;
  friend class detail::GraphCompletions;
  struct Parts;
  enum class State : std::uint8_t { changed, prepared, running, ended };

  template <class Options, class Post>
  Node add_post(Options options, Post post) {
    options.may_retry = false;
    options.may_complete_now = true;
    return add([options, post](Completion& node) mutable {
      options.completion = &node;
      return post(options);
    });
  }
  Node adopt(std::unique_ptr<detail::GraphTask> task);
  void check_changeable(const char* call) const;
  [[nodiscard]] detail::GraphTask& task_of(Node node, const char* call) const;
  /// Claims the graph for a run. Returns false when it is running, or has not been prepared.
  [[nodiscard]] bool claim() noexcept;
  void begin(Completion* parent, Outcome outcome) noexcept;
  void fail(Outcome outcome) noexcept;
  void finish() noexcept;
  void end_run() noexcept;
  void tell_unread() noexcept;

  std::unique_ptr<Parts> parts_;
  detail::CompletionLink completion_;
  void* user_data_ = nullptr;
  Completion* parent_ = nullptr;     // the node of another graph that has started this run
  Graph* next_completed_ = nullptr;  // the graph whose run a thread ends after this one's
  std::uint32_t size_ = 0;
  bool preparing_ = false;
  std::atomic<State> state_{State::changed};
  std::atomic<Outcome> outcome_{Outcome::ok};
  mutable std::atomic<bool> is_unread_{false};  // the outcome of a run that has failed
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<detail::GraphTask*> refused_{nullptr};
  // Neighbours in the ring of graphs with refused nodes; written under its lock, while this run is held open.
  Graph* next_listed_ = nullptr;
  Graph* previous_listed_ = nullptr;
  alignas(64) std::atomic<std::uint32_t> remaining_{0};  // nodes that have not ended in this run
};

}  // namespace weft
