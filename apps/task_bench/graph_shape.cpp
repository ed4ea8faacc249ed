#include "graph_shape.hpp"

#include <algorithm>
#include <cstddef>

namespace weft::task_bench {

namespace {

Interval overlap(const Interval& one, const Interval& other) {
  return {std::max(one.first, other.first), std::min(one.second, other.second)};
}
long length_of(const Interval& interval) { return std::max(0L, interval.second - interval.first + 1); }

}  // namespace

GraphShape::GraphShape(const TaskGraph& graph, int ranks) : graph_(graph), ranks_(ranks) {
  const long sets = graph.max_dependence_sets();
  const auto count = static_cast<std::size_t>(sets * graph.max_width);
  dependences_.reserve(count);
  consumers_.reserve(count);
  for (long set = 0; set < sets; ++set)
    for (long point = 0; point < graph.max_width; ++point) {
      dependences_.push_back(graph.dependencies(set, point));
      consumers_.push_back(graph.reverse_dependencies(set, point));
    }
}

Interval GraphShape::points_of(int rank) const noexcept {
  return {rank * graph_.max_width / ranks_, (rank + 1) * graph_.max_width / ranks_ - 1};
}

int GraphShape::owner_of(long point) const noexcept {
  return static_cast<int>(((point + 1) * ranks_ - 1) / graph_.max_width);
}

Interval GraphShape::points_at(long step) const {
  const long offset = graph_.offset_at_timestep(step);
  return {offset, offset + graph_.width_at_timestep(step) - 1};
}

long GraphShape::next_step(long step, long point) const {
  for (; step < graph_.timesteps; ++step) {
    const Interval points = points_at(step);
    if (point >= points.first && point <= points.second) break;
  }
  return step;
}

const std::vector<Interval>& GraphShape::at(const Intervals& all, long step, long point) const {
  return all[static_cast<std::size_t>(graph_.dependence_set_at_timestep(step) * graph_.max_width + point)];
}

long GraphShape::inputs_of(long step, long point) const {
  const Interval before = points_at(step - 1);
  long count = 0;
  for (const Interval& each : at(dependences_, step, point)) count += length_of(overlap(each, before));
  return count;
}

long GraphShape::index_of(long step, long point, long from) const {
  const Interval before = points_at(step - 1);
  long index = 0;
  for (const Interval& each : at(dependences_, step, point)) {
    const Interval there = overlap(each, before);
    if (from >= there.first && from <= there.second) return index + from - there.first;
    index += length_of(there);
  }
  return -1;
}

std::vector<Interval> GraphShape::consumers_of(long step, long point) const {
  std::vector<Interval> pieces;
  if (step + 1 >= graph_.timesteps) return pieces;
  const Interval after = points_at(step + 1);
  for (const Interval& each : at(consumers_, step + 1, point))
    if (const Interval there = overlap(each, after); length_of(there) > 0) pieces.push_back(there);
  return pieces;
}

}  // namespace weft::task_bench
