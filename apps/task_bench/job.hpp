// All graphs of a program, on one rank.
#pragma once

#include <weft/parcel/latch.hpp>
#include <weft/parcel/runtime.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "column.hpp"
#include "graph_shape.hpp"

namespace weft::task_bench {

/// The rank's part of the graphs. An output goes once to each other rank that has a task which needs it;
/// there it is shared, as it is here.
class Job final : private Graphs {
 public:
  Job(parcel::Runtime& runtime, const std::vector<TaskGraph>& graphs);

  /// Runs all tasks of all graphs, those of different graphs at the same time. Collective. The seconds that
  /// it took, until the last rank had ended.
  double run();
  /// Takes an output of another rank. Ends the program when no task here needs it.
  void take(std::size_t graph, long step, long point, const Output& output);

 private:
  struct Graph {
    GraphShape shape;
    Interval points;             // of this rank
    std::deque<Column> columns;  // by point
  };
  void hand_on(std::size_t graph, long step, long point, const Output& output) override;
  void column_ended() override { running_->count_down(); }
  void failed(const char* why) override;
  /// To the tasks of this rank that need it; how many these are.
  long give(Graph& graph, long step, long point, const Output& output);

  parcel::Runtime& runtime_;
  std::deque<Graph> graphs_;
  std::unique_ptr<parcel::Latch> running_;  // columns
};

/// Says it in one line and ends this rank, and so the job: its tasks cannot go on.
[[noreturn]] void give_up(const std::string& why);

}  // namespace weft::task_bench
