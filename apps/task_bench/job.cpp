#include "job.hpp"

#include <weft/parcel/parcel.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace weft::task_bench {

namespace {

using Seconds = std::chrono::duration<double>;

Job* job_here = nullptr;  // parcels find it; set while ranks run graphs

void take_output(std::uint32_t graph, std::int64_t step, std::int64_t point, Output output) {
  if (job_here == nullptr) give_up("an output has come to a rank that runs no graph");
  job_here->take(graph, step, point, output);
}

std::string name_of(std::size_t graph, long step, long point) {
  return "graph " + std::to_string(graph) + ", step " + std::to_string(step) + ", point " +
         std::to_string(point);
}

}  // namespace

void give_up(const std::string& why) {
  std::fprintf(stderr, "weft-task-bench: %s\n", why.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

Job::Job(parcel::Runtime& runtime, const std::vector<TaskGraph>& graphs) : runtime_(runtime) {
  for (const TaskGraph& each : graphs) {
    Graph& graph = graphs_.emplace_back(Graph{GraphShape(each, runtime.size()), {}, {}});
    graph.points = graph.shape.points_of(runtime.rank());
    for (long point = graph.points.first; point <= graph.points.second; ++point)
      graph.columns.emplace_back(static_cast<Graphs&>(*this), runtime.scheduler(), graph.shape, point);
  }
}

double Job::run() {
  std::ptrdiff_t columns = 0;
  for (Graph& graph : graphs_)
    for (Column& column : graph.columns) {
      column.reset();
      ++columns;
    }
  running_ = std::make_unique<parcel::Latch>(columns);
  job_here = this;
  runtime_.barrier();  // outputs may come from here on
  const auto begin = std::chrono::steady_clock::now();
  for (Graph& graph : graphs_)
    for (Column& column : graph.columns)
      if (!column.begin()) running_->count_down();
  running_->wait();
  runtime_.barrier();
  const double seconds = Seconds(std::chrono::steady_clock::now() - begin).count();
  job_here = nullptr;
  return seconds;
}

void Job::failed(const char* why) { give_up(why); }

void Job::take(std::size_t graph, long step, long point, const Output& output) {
  if (graph >= graphs_.size()) give_up("an output has come of graph " + std::to_string(graph));
  Graph& there = graphs_[graph];
  const TaskGraph& core = there.shape.graph();
  if (step < 0 || step >= core.timesteps || point < 0 || point >= core.max_width || output == nullptr ||
      output->size() != core.output_bytes_per_task)
    give_up("what has come is no output: " + name_of(graph, step, point));
  if (give(there, step, point, output) == 0)
    give_up("an output has come that no task here needs: " + name_of(graph, step, point));
}

long Job::give(Graph& graph, long step, long point, const Output& output) {
  long count = 0;
  for (const Interval& piece : graph.shape.consumers_of(step, point)) {
    const long last = std::min(piece.second, graph.points.second);
    for (long consumer = std::max(piece.first, graph.points.first); consumer <= last; ++consumer, ++count)
      if (!graph.columns[static_cast<std::size_t>(consumer - graph.points.first)].take(step + 1, point,
                                                                                       output))
        give_up("an output has come twice, or late, or the core's dependences are not its reverse ones: " +
                name_of(static_cast<std::size_t>(graph.shape.graph().graph_index), step, point) +
                " for point " + std::to_string(consumer));
  }
  return count;
}

void Job::hand_on(std::size_t index, long step, long point, const Output& output) {
  Graph& graph = graphs_[index];
  std::vector<int> ranks;
  for (const Interval& piece : graph.shape.consumers_of(step, point))
    for (int rank = graph.shape.owner_of(piece.first); rank <= graph.shape.owner_of(piece.second); ++rank) {
      const Interval there = graph.shape.points_of(rank);  // none, when there are more ranks than points
      if (rank != runtime_.rank() && there.first <= there.second &&
          std::find(ranks.begin(), ranks.end(), rank) == ranks.end())
        ranks.push_back(rank);
    }
  // Others wait for these: they go before the tasks of this rank are made.
  for (const int rank : ranks)
    runtime_.apply(rank, parcel::action<&take_output>, static_cast<std::uint32_t>(index), step, point,
                   output);
  give(graph, step, point, output);
}

}  // namespace weft::task_bench
