// Running graphs: a loop per thread that has ended a node, over what has become ready by that.
#include "base/log.hpp"
#include "core/completion/graph_parts.hpp"

#include <weft/completion/graph.hpp>
#include <weft/detail/message_access.hpp>
#include <weft/error.hpp>

#include <cassert>
#include <string>

namespace weft {

namespace detail {

namespace {
// Refused nodes that are tried again at a time, so that many of them do not take a time that grows with the
// square of their number.
constexpr std::uint32_t kRetriedByEnd = 8;
constexpr std::uint32_t kRetriedByTest = 64;
}  // namespace

/// Nodes that are ready, first in, first out; of one thread.
class GraphTasks {
 public:
  void put(GraphTask& task) noexcept {
    task.next_ = nullptr;
    (first_ == nullptr ? first_ : last_->next_) = &task;
    last_ = &task;
  }
  [[nodiscard]] GraphTask* take() noexcept {
    GraphTask* task = first_;
    if (task != nullptr) first_ = task->next_;
    return task;
  }

 private:
  GraphTask* first_ = nullptr;
  GraphTask* last_ = nullptr;
};

/// A loop over ready nodes of one graph, so that a chain of nodes needs no stack. It lives on the stack of
/// its thread, where start() finds it: a graph that is started again by its own end goes on in the same loop.
struct GraphRun {
  explicit GraphRun(Graph& graph) noexcept : of(&graph), outer(innermost) { innermost = this; }
  ~GraphRun() { innermost = outer; }
  GraphRun(const GraphRun&) = delete;
  GraphRun& operator=(const GraphRun&) = delete;

  [[nodiscard]] static GraphRun* find(const Graph& graph) noexcept {
    GraphRun* run = innermost;
    while (run != nullptr && run->of != &graph) run = run->outer;
    return run;
  }

  /// Takes the turn of every node in the list. The graph may have ended, and be gone, after any of them.
  void loop() noexcept {
    while (GraphTask* task = ready.take()) turn(*task);
  }
  void turn(GraphTask& task) noexcept;
  /// The task has ended: lets those after it begin that waited only for it.
  void end(GraphTask& task) noexcept;
  void leave(Graph& graph) noexcept;
  /// Keeps a node that was refused.
  void refuse(GraphTask& task) noexcept;
  /// Puts up to `limit` of the refused nodes into the list, all when they are to be cancelled; the others,
  /// linked, are the caller's to give back.
  [[nodiscard]] GraphTask* take_refused(Graph& graph, std::uint32_t limit) noexcept;
  void give_back(Graph& graph, GraphTask& first) noexcept;
  static Status fire(GraphTask& task) noexcept;

  static thread_local GraphRun* innermost;

  const Graph* of;  // only compared
  GraphRun* outer;
  GraphTasks ready;
};

thread_local GraphRun* GraphRun::innermost = nullptr;

Status GraphRun::fire(GraphTask& task) noexcept {
  try {
    return task.fire();
  } catch (const std::exception& error) {
    base::Log(base::LogLevel::error)
        .error("graph: node " + std::to_string(task.index_) + " could not begin: " + error.what());
    task.outcome_ = Outcome::refused;
    return Status::done();
  }
}

void GraphRun::turn(GraphTask& task) noexcept {
  Graph& graph = *task.graph_;
  task.waiting_.store(task.predecessors_, std::memory_order_relaxed);  // for the next run
  if (graph.outcome_.load(std::memory_order_relaxed) != Outcome::ok) {
    task.outcome_ = Outcome::cancelled;
    end(task);
    return;
  }
  task.outcome_ = Outcome::ok;
  task.pending_.store(2, std::memory_order_relaxed);
  const Status status = fire(task);
  if (status.is_done()) {
    task.pending_.store(0, std::memory_order_relaxed);
    end(task);
  } else if (status.is_posted()) {
    // Pairs with the one in signal(): whoever comes second sees what the first has done.
    if (task.pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) end(task);
  } else {
    refuse(task);
  }
}

void GraphRun::end(GraphTask& task) noexcept {
  Graph& graph = *task.graph_;
  if (task.outcome_ != Outcome::ok) graph.fail(task.outcome_);
  for (std::uint32_t each = 0; each < task.successor_count_; ++each)
    // Each goes on with the release of those before, so that whoever begins the node sees what they did.
    if (GraphTask* after = task.successors_[each];
        after->waiting_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      ready.put(*after);
  if (graph.refused_.load(std::memory_order_seq_cst) != nullptr) [[unlikely]]
    if (GraphTask* rest = take_refused(graph, kRetriedByEnd); rest != nullptr) give_back(graph, *rest);
  leave(graph);
}

void GraphRun::leave(Graph& graph) noexcept {
  // Release: what this node did; acquire in the last one: what all have done.
  if (graph.remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1) graph.finish();
}

void GraphRun::refuse(GraphTask& task) noexcept {
  task.next_ = nullptr;
  give_back(*task.graph_, task);
}

void GraphRun::give_back(Graph& graph, GraphTask& first) noexcept {
  // Others may take the nodes out at once and end the run, which therefore waits for this call too.
  graph.remaining_.fetch_add(1, std::memory_order_relaxed);
  GraphTask* head = nullptr;
  if (!graph.refused_.compare_exchange_strong(head, &first, std::memory_order_seq_cst,
                                              std::memory_order_relaxed)) {
    GraphTask* last = &first;
    while (last->next_ != nullptr) last = last->next_;
    do {
      last->next_ = head;
    } while (!graph.refused_.compare_exchange_weak(head, &first, std::memory_order_seq_cst,
                                                   std::memory_order_relaxed));
  }
  // Either the node that fails the graph finds these ones refused, or its failure is seen here.
  if (graph.outcome_.load(std::memory_order_seq_cst) != Outcome::ok)
    static_cast<void>(take_refused(graph, 0));
  leave(graph);
}

GraphTask* GraphRun::take_refused(Graph& graph, std::uint32_t limit) noexcept {
  GraphTask* task = graph.refused_.exchange(nullptr, std::memory_order_seq_cst);
  const bool failed = graph.outcome_.load(std::memory_order_seq_cst) != Outcome::ok;
  for (std::uint32_t count = 0; task != nullptr && (failed || count < limit); ++count) {
    GraphTask* next = task->next_;
    ready.put(*task);
    task = next;
  }
  return task;
}

void GraphTask::signal(Message& message) noexcept {
  assert(pending_.load(std::memory_order_relaxed) != 0 && "a node's completion object is signalled once");
  outcome_ = judge(message);
  // Pairs with the one in GraphRun::turn().
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  GraphRun run(*graph_);
  run.end(*this);
  run.loop();
}

}  // namespace detail

void Graph::start() {
  check_changeable("start");
  if (state_.load(std::memory_order_relaxed) == State::changed || !parts_->inner.empty()) prepare();
  if (!claim()) throw Error("Graph::start: the graph is running; wait for its end before");
  begin(nullptr, Outcome::ok);
}

bool Graph::claim() noexcept {
  State state = state_.load(std::memory_order_relaxed);
  do {
    if (state == State::running || state == State::changed) return false;
    // Pairs with the release in finish(): what the run before has left is seen.
  } while (!state_.compare_exchange_weak(state, State::running, std::memory_order_acquire,
                                         std::memory_order_relaxed));
  return true;
}

void Graph::begin(Completion* parent, Outcome outcome) noexcept {
  parent_ = parent;
  outcome_.store(outcome, std::memory_order_relaxed);
  remaining_.store(size_, std::memory_order_relaxed);
  if (size_ == 0) {
    finish();
    return;
  }
  // All of them into the list before the first one begins: with the last one the graph may have ended.
  if (detail::GraphRun* run = detail::GraphRun::find(*this)) {
    for (detail::GraphTask* root : parts_->roots) run->ready.put(*root);
    return;
  }
  detail::GraphRun run(*this);
  for (detail::GraphTask* root : parts_->roots) run.ready.put(*root);
  run.loop();
}

bool Graph::test() noexcept {
  if (refused_.load(std::memory_order_relaxed) != nullptr) {
    detail::GraphRun run(*this);
    detail::GraphTask* rest = run.take_refused(*this, detail::kRetriedByTest);
    run.loop();
    // On top of those that were refused again: the next call begins with them.
    if (rest != nullptr) {
      run.give_back(*this, *rest);
      run.loop();
    }
  }
  for (detail::GraphTask* task : parts_->inner) task->inner()->test();
  return ready();
}

void Graph::signal(Message& message) noexcept {
  if (claim()) {
    begin(nullptr, message.outcome());
    return;
  }
  if (lost_.fetch_add(1, std::memory_order_relaxed) == 0)
    base::Log(base::LogLevel::error)
        .error(state_.load(std::memory_order_relaxed) == State::changed
                   ? "graph: a signal came before the graph was prepared, and is lost"
                   : "graph: a signal came while the graph was running, and is lost");
}

void Graph::fail(Outcome outcome) noexcept {
  Outcome ok = Outcome::ok;
  outcome_.compare_exchange_strong(ok, outcome, std::memory_order_seq_cst, std::memory_order_relaxed);
}

void Graph::finish() noexcept {
  // Read before: from the store on a waiter may start the graph again, or destroy it.
  Completion* const told[] = {completion_, parent_};
  void* const user_data = user_data_;
  const Outcome outcome = outcome_.load(std::memory_order_relaxed);
  // Pairs with the acquire in ready() and claim().
  state_.store(State::ended, std::memory_order_release);
  notify_waiters_of(this);
  for (Completion* completion : told) {
    if (completion == nullptr) continue;
    Message message;
    detail::MessageAccess::set_view(message, Operation::graph, -1, 0, nullptr, 0, nullptr, 0);
    detail::MessageAccess::set_outcome(message, outcome);
    if (completion == told[0]) detail::MessageAccess::set_user_data(message, user_data);
    completion->signal(message);
  }
}

}  // namespace weft
