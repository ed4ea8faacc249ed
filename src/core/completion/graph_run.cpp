// Running graphs: each thread that has ended a node loops over the nodes that became ready by that.
#include "core/completion/graph_run.hpp"
#include "base/log.hpp"
#include "core/completion/graph_parts.hpp"
#include "core/completion/immediate_completions.hpp"
#include "core/completion/refused_nodes.hpp"

#include <weft/completion/graph.hpp>
#include <weft/detail/message_access.hpp>
#include <weft/error.hpp>

#include <cassert>
#include <string>

namespace weft {

namespace detail {

thread_local GraphRun* GraphRun::innermost = nullptr;

Status GraphRun::fire(GraphTask& task) noexcept {
  NodeRefusals::forget_last();
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
    // Pairs with the fetch_sub in signal(): the thread that comes second sees the effects of the first.
    if (task.pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) end(task);
  } else {
    refuse(task);
  }
}

void GraphRun::end(GraphTask& task) noexcept {
  Graph& graph = *task.graph_;
  if (task.outcome_ != Outcome::ok) graph.fail(task.outcome_);
  for (std::uint32_t each = 0; each < task.successor_count_; ++each)
    // Each node continues the release sequence of those before, so that the thread that begins it sees their
    // effects.
    if (GraphTask* after = task.successors_[each];
        after->waiting_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      ready.put(*after);
  if (graph.refused_.load(std::memory_order_seq_cst) != nullptr) [[unlikely]]
    if (GraphTask* rest = take_refused(graph, kRetriedByEnd); rest != nullptr) release(graph, *rest);
  leave(graph);
}

void GraphRun::leave(Graph& graph) noexcept {
  // Release: the effects of this node; acquire in the last one: the effects of all nodes.
  if (graph.remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1) graph.finish();
}

void GraphRun::refuse(GraphTask& task) noexcept {
  ++refused;
  note_refused(task);
  list(*task.graph_);
  task.next_ = nullptr;
  release(*task.graph_, task);
}

void GraphRun::release(Graph& graph, GraphTask& first) noexcept {
  // Other threads may take the nodes out at once and end the run, which therefore waits for this call too.
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
  // Either the node that fails the graph finds these refused nodes, or this thread sees its failure.
  if (graph.outcome_.load(std::memory_order_seq_cst) != Outcome::ok)
    static_cast<void>(take_refused(graph, 0));
  leave(graph);
}

GraphTask* GraphRun::take_refused(Graph& graph, std::uint32_t limit) noexcept {
  GraphTask* task = graph.refused_.exchange(nullptr, std::memory_order_seq_cst);
  const bool failed = graph.outcome_.load(std::memory_order_seq_cst) != Outcome::ok;
  for (std::uint32_t count = 0; task != nullptr && (failed || count < limit); ++count) {
    GraphTask* next = task->next_;
    note_retried(*task);
    ready.put(*task);
    task = next;
  }
  return task;
}

void GraphTask::signal(Message& message) noexcept {
  assert(pending_.load(std::memory_order_relaxed) != 0 && "a node's completion object is signalled once");
  outcome_ = judge(message);
  MessageAccess::excuse_outcome(message);  // a judge may have replaced it
  // Pairs with the fetch_sub in GraphRun::turn().
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  GraphRun run(*graph_);
  run.end(*this);
  run.loop();
}

}  // namespace detail

void Graph::start() {
  check_changeable("start");
  if (state_.load(std::memory_order_relaxed) == State::changed || !parts_->inner.empty()) prepare();
  if (!claim()) throw Error(ErrorClass::state, "Graph::start: the graph is running; wait for its end before");
  begin(nullptr, Outcome::ok);
}

bool Graph::claim() noexcept {
  State state = state_.load(std::memory_order_relaxed);
  do {
    if (state == State::running || state == State::changed) return false;
    // Pairs with the release in finish(): the effects of the previous run are visible.
  } while (!state_.compare_exchange_weak(state, State::running, std::memory_order_acquire,
                                         std::memory_order_relaxed));
  return true;
}

void Graph::begin(Completion* parent, Outcome outcome) noexcept {
  tell_unread();
  parent_ = parent;
  outcome_.store(outcome, std::memory_order_relaxed);
  remaining_.store(size_, std::memory_order_relaxed);
  if (size_ == 0) {
    finish();
    return;
  }
  // All roots enter the list before the first one begins: with the last one the graph may have ended.
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
    detail::GraphTask* rest = run.take_refused(*this, detail::GraphRun::kRetriedByTest);
    run.loop();
    // On top of nodes that were refused again: the next call begins with these.
    if (rest != nullptr) {
      run.release(*this, *rest);
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

/// A completion object that is signalled at the end may start the next graph, whose functions and operations
/// end at once, and so on: a few such ends nest on a thread; further ones wait until the outermost has
/// returned.
class detail::GraphCompletions {
 public:
  static void finish(Graph& graph) noexcept {
    if (depth_ == kDepth) {
      graph.next_completed_ = nullptr;
      (first_ == nullptr ? first_ : last_->next_completed_) = &graph;
      last_ = &graph;
      return;
    }
    end_run(graph);
    while (depth_ == 0 && first_ != nullptr) {
      Graph& next = *first_;
      first_ = next.next_completed_;
      end_run(next);
    }
  }

 private:
  static constexpr std::uint32_t kDepth = 2;

  static void end_run(Graph& graph) noexcept {
    ++depth_;
    graph.end_run();
    --depth_;
  }

  static thread_local std::uint32_t depth_;
  static thread_local Graph* first_;
  static thread_local Graph* last_;
};

thread_local std::uint32_t detail::GraphCompletions::depth_ = 0;
thread_local Graph* detail::GraphCompletions::first_ = nullptr;
thread_local Graph* detail::GraphCompletions::last_ = nullptr;

void Graph::tell_unread() noexcept {
  if (!is_unread_.exchange(false, std::memory_order_relaxed)) return;
  Message message;  // which nobody reads
  detail::MessageAccess::set_view(message, Operation::graph, -1, 0, nullptr, 0, nullptr, 0);
  detail::MessageAccess::set_outcome(message, outcome_.load(std::memory_order_relaxed));
  detail::MessageAccess::must_read(message);
}

void Graph::finish() noexcept { detail::GraphCompletions::finish(*this); }

void Graph::end_run() noexcept {
  // Read before the store: after it a waiter may start the graph again, or destroy it.
  Completion* const told[] = {completion_.get(), parent_};
  void* const user_data = user_data_;
  const Outcome outcome = outcome_.load(std::memory_order_relaxed);
  const bool is_failure = outcome != Outcome::ok && outcome != Outcome::cancelled;
  if (is_failure && told[0] == nullptr && told[1] == nullptr) [[unlikely]]
    is_unread_.store(true, std::memory_order_relaxed);
  // A thread that has listed the graph did so before it left the run.
  if (next_listed_ != nullptr) [[unlikely]]
    detail::GraphRun::unlist(*this);
  // Pairs with the acquire in ready() and claim().
  state_.store(State::ended, std::memory_order_release);
  notify_waiters_of(this);
  const core::SignalScope scope;
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
