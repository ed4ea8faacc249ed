// What depends on what in a graph of Task Bench, and which rank has which point.
#pragma once

#include <utility>
#include <vector>

#include <core.h>

namespace weft::task_bench {

/// From the first to the second, both included; none when the second is less.
using Interval = std::pair<long, long>;

/// A graph of Task Bench, whose dependences have been looked up once. Steps and points are those of its core.
class GraphShape {
 public:
  GraphShape(const TaskGraph& graph, int ranks);

  [[nodiscard]] const TaskGraph& graph() const noexcept { return graph_; }
  /// The points of a rank, as Task Bench's other programs distribute them.
  [[nodiscard]] Interval points_of(int rank) const noexcept;
  [[nodiscard]] int owner_of(long point) const noexcept;
  /// The points that have a task in this step.
  [[nodiscard]] Interval points_at(long step) const;
  /// The first step from this one on in which the point has a task; timesteps: there is none.
  [[nodiscard]] long next_step(long step, long point) const;
  /// How many tasks of the step before the task depends on.
  [[nodiscard]] long inputs_of(long step, long point) const;
  /// The index of the output of `from` among the task's inputs; -1: it is none of them.
  [[nodiscard]] long index_of(long step, long point, long from) const;
  /// The tasks of the step behind this one that depend on the task, in pieces.
  [[nodiscard]] std::vector<Interval> consumers_of(long step, long point) const;

 private:
  using Intervals = std::vector<std::vector<Interval>>;  // by dependence set and point
  [[nodiscard]] const std::vector<Interval>& at(const Intervals& all, long step, long point) const;

  TaskGraph graph_;
  int ranks_;
  Intervals dependences_;
  Intervals consumers_;
};

}  // namespace weft::task_bench
