// The loop that runs the nodes of a graph.
#pragma once

#include <weft/completion/graph.hpp>
#include <weft/status.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft::detail {

class NodeRefusals;

/// The nodes that are ready, first in, first out; of one thread.
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
  /// Returns the list as a chain; the list is empty afterwards.
  [[nodiscard]] GraphTask* release() noexcept { return std::exchange(first_, nullptr); }
  /// Appends the chain that `release()` of another list has returned.
  void append(GraphTask* chain) noexcept {
    while (GraphTask* task = chain) {
      chain = task->next_;
      put(*task);
    }
  }

 private:
  GraphTask* first_ = nullptr;
  GraphTask* last_ = nullptr;
};

/// A loop over ready nodes of one graph, so that a chain of nodes needs no stack. It lives on the stack of
/// its thread, where start() finds it: a graph that is started again by its own end continues in the same
/// loop.
struct GraphRun {
  // The number of refused nodes that are retried at a time, so that the time for many of them does not grow
  // with the square of their number.
  static constexpr std::uint32_t kRetriedByEnd = 8;
  static constexpr std::uint32_t kRetriedByTest = 64;

  explicit GraphRun(Graph& graph) noexcept : of(&graph), outer(innermost) { innermost = this; }
  ~GraphRun() { innermost = outer; }
  GraphRun(const GraphRun&) = delete;
  GraphRun& operator=(const GraphRun&) = delete;

  [[nodiscard]] static GraphRun* find(const Graph& graph) noexcept {
    GraphRun* run = innermost;
    while (run != nullptr && run->of != &graph) run = run->outer;
    return run;
  }

  /// Takes the turn of every node in the list. The graph may have ended, and be destroyed, after any of them.
  void loop() noexcept {
    while (GraphTask* task = ready.take()) turn(*task);
  }
  void turn(GraphTask& task) noexcept;
  /// Called when the task has ended: puts tasks into the list that waited only for it.
  void end(GraphTask& task) noexcept;
  void leave(Graph& graph) noexcept;
  /// Stores a node that was refused.
  void refuse(GraphTask& task) noexcept;
  /// Puts up to `limit` of the refused nodes into the list, or all when they are to be cancelled; returns the
  /// others, linked, which the caller must release().
  [[nodiscard]] GraphTask* take_refused(Graph& graph, std::uint32_t limit) noexcept;
  void release(Graph& graph, GraphTask& first) noexcept;
  static Status fire(GraphTask& task) noexcept;

  // graph_retry.cpp
  /// Retries refused nodes that progress of `device` may retry; returns the number that were not refused
  /// again. The caller holds the run open, and leaves it with leave().
  std::size_t retry(Graph& graph, const NodeRefusals& device, bool exclusive) noexcept;
  /// Adds a graph that has a refused node to the list of those; until unlist(). The run is open.
  static void list(Graph& graph) noexcept;
  static void unlist(Graph& graph) noexcept;
  /// Returns the listed graph whose turn it is, with its run held open; nullptr: there is none. Under the
  /// lock of the list.
  [[nodiscard]] static Graph* take_listed(Graph*& turn) noexcept;
  /// The graph, which has failed, is being destroyed: nobody retries its nodes any more.
  static void drop_refused(Graph& graph) noexcept;
  static void note_refused(GraphTask& task) noexcept;
  static void note_retried(GraphTask& task) noexcept;

  static thread_local GraphRun* innermost;

  const Graph* of;  // only compared
  GraphRun* outer;
  GraphTasks ready;
  std::size_t refused = 0;  // nodes refused in this loop
};

/// A listed graph, with its run held open, that this thread retries; none where the list is empty, or held by
/// another thread. A graph that is destroyed waits for those of other threads.
class TakenGraph {
 public:
  TakenGraph() noexcept;
  ~TakenGraph();
  TakenGraph(const TakenGraph&) = delete;
  TakenGraph& operator=(const TakenGraph&) = delete;
  [[nodiscard]] Graph* graph() const noexcept { return graph_; }
  [[nodiscard]] static bool has_another_thread(const Graph& graph) noexcept;

 private:
  Graph* graph_ = nullptr;
  const std::uint32_t thread_;
  TakenGraph* next_ = nullptr;
};

}  // namespace weft::detail
