// Refused nodes of graphs, retried by progress.
#include "concurrent/thread_number.hpp"
#include "core/completion/graph_run.hpp"
#include "core/completion/refused_nodes.hpp"

#include <mutex>
#include <thread>

namespace weft::detail {

namespace {

/// The graphs of this process that run and have had refused nodes, in a ring. The mutex is locked by threads
/// that add or remove a graph, or have taken one, which happens only after a refused post; progress only
/// tries it. Nothing is called while it is held.
struct RefusedGraphs {
  std::mutex mutex;
  Graph* next = nullptr;        // the graph whose turn it is
  TakenGraph* taken = nullptr;  // those that threads are about
};
constinit RefusedGraphs refused_graphs;

}  // namespace

alignas(64) constinit std::atomic<std::uint32_t> NodeRefusals::all_{0};
alignas(64) constinit std::atomic<std::uint32_t> NodeRefusals::by_nobody_{0};
constinit thread_local NodeRefusals* NodeRefusals::last_ = nullptr;

void GraphRun::note_refused(GraphTask& task) noexcept {
  task.refused_by_ = NodeRefusals::last();
  task.refused_in_ = concurrent::thread_number();
  auto& counter = task.refused_by_ != nullptr ? task.refused_by_->nodes_ : NodeRefusals::by_nobody_;
  counter.fetch_add(1, std::memory_order_relaxed);
  NodeRefusals::all_.fetch_add(1, std::memory_order_relaxed);
}

void GraphRun::note_retried(GraphTask& task) noexcept {
  auto& counter = task.refused_by_ != nullptr ? task.refused_by_->nodes_ : NodeRefusals::by_nobody_;
  counter.fetch_sub(1, std::memory_order_relaxed);
  NodeRefusals::all_.fetch_sub(1, std::memory_order_relaxed);
}

void GraphRun::list(Graph& graph) noexcept {
  const std::lock_guard lock(refused_graphs.mutex);
  if (graph.next_listed_ != nullptr) return;
  Graph* const next = refused_graphs.next;
  if (next == nullptr) {
    graph.next_listed_ = graph.previous_listed_ = refused_graphs.next = &graph;
    return;
  }
  graph.next_listed_ = next;
  graph.previous_listed_ = next->previous_listed_;
  graph.previous_listed_->next_listed_ = next->previous_listed_ = &graph;
}

void GraphRun::unlist(Graph& graph) noexcept {
  const std::lock_guard lock(refused_graphs.mutex);
  if (refused_graphs.next == &graph)
    refused_graphs.next = graph.next_listed_ != &graph ? graph.next_listed_ : nullptr;
  graph.previous_listed_->next_listed_ = graph.next_listed_;
  graph.next_listed_->previous_listed_ = graph.previous_listed_;
  graph.next_listed_ = graph.previous_listed_ = nullptr;
}

void GraphRun::drop_refused(Graph& graph) noexcept {
  while (TakenGraph::has_another_thread(graph)) std::this_thread::yield();
  for (GraphTask* task = graph.refused_.exchange(nullptr, std::memory_order_acquire); task != nullptr;
       task = task->next_)
    note_retried(*task);
  if (graph.next_listed_ != nullptr) unlist(graph);
}

TakenGraph::TakenGraph() noexcept : thread_(concurrent::thread_number()) {
  const std::unique_lock lock(refused_graphs.mutex, std::try_to_lock);
  if (lock.owns_lock()) graph_ = GraphRun::take_listed(refused_graphs.next);
  if (graph_ != nullptr) next_ = std::exchange(refused_graphs.taken, this);
}

TakenGraph::~TakenGraph() {
  if (graph_ == nullptr) return;
  const std::lock_guard lock(refused_graphs.mutex);
  TakenGraph** link = &refused_graphs.taken;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
}

bool TakenGraph::has_another_thread(const Graph& graph) noexcept {
  const std::lock_guard lock(refused_graphs.mutex);
  const std::uint32_t self = concurrent::thread_number();
  for (const TakenGraph* each = refused_graphs.taken; each != nullptr; each = each->next_)
    if (each->graph_ == &graph && each->thread_ != self) return true;
  return false;
}

Graph* GraphRun::take_listed(Graph*& turn) noexcept {
  if (turn == nullptr) return nullptr;
  Graph* const first = turn;
  do {
    Graph* const graph = turn;
    turn = graph->next_listed_;
    if (graph->refused_.load(std::memory_order_relaxed) == nullptr) continue;
    // A run whose last node has ended is about to remove its graph from the list.
    std::uint32_t remaining = graph->remaining_.load(std::memory_order_relaxed);
    while (remaining != 0)
      if (graph->remaining_.compare_exchange_weak(remaining, remaining + 1, std::memory_order_relaxed))
        return graph;
  } while (turn != first);
  return nullptr;
}

std::size_t GraphRun::retry(Graph& graph, const NodeRefusals& device, bool exclusive) noexcept {
  const std::uint32_t thread = concurrent::thread_number();
  GraphTask* rest = graph.refused_.exchange(nullptr, std::memory_order_seq_cst);
  const bool failed = graph.outcome_.load(std::memory_order_seq_cst) != Outcome::ok;
  GraphTasks others;
  std::size_t tried = 0;
  for (std::uint32_t looked = 0; rest != nullptr && (failed || looked < kRetriedByTest); ++looked) {
    GraphTask& task = *rest;
    rest = task.next_;
    const bool is_mine =
        task.refused_by_ == nullptr ? !exclusive || task.refused_in_ == thread : task.refused_by_ == &device;
    if (failed || is_mine) {
      note_retried(task);
      ready.put(task);
      ++tried;
    } else {
      others.put(task);
    }
  }
  // Nodes that this call has not reached come first the next time.
  if (GraphTask* skipped = others.release(); skipped != nullptr) {
    GraphTasks order;
    order.append(rest);
    order.append(skipped);
    rest = order.release();
  }
  loop();
  const std::size_t accepted = tried > refused ? tried - refused : 0;
  if (rest != nullptr) {
    release(graph, *rest);
    loop();
  }
  return accepted;
}

std::size_t NodeRefusals::retry(bool exclusive) noexcept {
  if (nodes_.load(std::memory_order_relaxed) == 0 && by_nobody_.load(std::memory_order_relaxed) == 0)
    return 0;
  const TakenGraph taken;
  Graph* const graph = taken.graph();
  if (graph == nullptr) return 0;
  GraphRun run(*graph);
  const std::size_t accepted = run.retry(*graph, *this, exclusive);
  run.leave(*graph);
  run.loop();
  return accepted;
}

}  // namespace weft::detail
