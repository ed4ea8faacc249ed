// The tasks of one point of a graph, one behind the other.
#pragma once

#include <weft/parcel/array.hpp>
#include <weft/parcel/task.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "graph_shape.hpp"

namespace weft::task_bench {

/// What a task has made, for all that need it. It is not changed any more once it is handed on.
using Output = std::shared_ptr<parcel::Array<char>>;

/// Where columns put their outputs, and say that they are through.
class Graphs {
 public:
  virtual void hand_on(std::size_t graph, long step, long point, const Output& output) = 0;
  virtual void column_ended() = 0;
  /// A task could not be run to its end.
  virtual void failed(const char* why) = 0;

 protected:
  ~Graphs() = default;
};

/// Runs the tasks of a point in the order of their steps, each when all its inputs are there. The point's
/// scratch memory is that of all of them, so only one of them runs at a time. Inputs may come any number of
/// steps early.
class Column final : public parcel::Task {
 public:
  Column(Graphs& graphs, parcel::Scheduler& scheduler, const GraphShape& shape, long point);

  /// Back to the first step. Not while anything runs or comes.
  void reset();
  /// Runs the first task when it needs no input. False: the point has no task in any step.
  bool begin();
  /// Takes an input. Any thread. False: the task has no such input, or has had it.
  bool take(long step, long from, const Output& output);

 private:
  struct Step {
    std::vector<Output> inputs;
    long missing = 0;
  };
  static void execute_column(Task& task) noexcept;
  void run();
  [[nodiscard]] Step& step_at(long step);
  /// Goes on to the step: true when it can run now.
  bool advance(long step);
  Output call_core(long step, const std::vector<Output>& inputs);

  Graphs& graphs_;
  parcel::Scheduler& scheduler_;
  const GraphShape& shape_;
  const long point_;
  std::unique_ptr<char[]> scratch_;
  std::mutex mutex_;        // of all below; nobody waits with it
  std::deque<Step> steps_;  // from next_ on
  long next_ = 0;
  bool runs_ = false;  // the task of next_
};

}  // namespace weft::task_bench
