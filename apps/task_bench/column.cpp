#include "column.hpp"

#include <exception>
#include <utility>

namespace weft::task_bench {

Column::Column(Graphs& graphs, parcel::Scheduler& scheduler, const GraphShape& shape, long point)
    : Task(&execute_column), graphs_(graphs), scheduler_(scheduler), shape_(shape), point_(point) {
  const std::size_t bytes = shape.graph().scratch_bytes_per_task;
  if (bytes == 0) return;
  scratch_.reset(new char[bytes]);
  TaskGraph::prepare_scratch(scratch_.get(), bytes);
}

void Column::reset() {
  steps_.clear();
  next_ = 0;
  runs_ = false;
}

bool Column::begin() {
  std::unique_lock lock(mutex_);
  const long first = shape_.next_step(0, point_);
  if (first == shape_.graph().timesteps) return false;
  // Who does not run yet cannot have gone on, however many inputs have come.
  const bool can_run = advance(first);
  lock.unlock();
  if (can_run) scheduler_.schedule(*this);
  return true;
}

Column::Step& Column::step_at(long step) {
  while (static_cast<long>(steps_.size()) <= step - next_) {
    const long made = next_ + static_cast<long>(steps_.size());
    const Interval points = shape_.points_at(made);
    const bool is_task = point_ >= points.first && point_ <= points.second;
    Step& last = steps_.emplace_back();
    last.missing = is_task ? shape_.inputs_of(made, point_) : 0;
    last.inputs.resize(static_cast<std::size_t>(last.missing));
  }
  return steps_[static_cast<std::size_t>(step - next_)];
}

bool Column::advance(long step) {
  for (; next_ < step; ++next_)
    if (!steps_.empty()) steps_.pop_front();
  runs_ = step < shape_.graph().timesteps && step_at(step).missing == 0;
  return runs_;
}

bool Column::take(long step, long from, const Output& output) {
  const long index = shape_.index_of(step, point_, from);
  std::unique_lock lock(mutex_);
  if (index < 0 || step < next_) return false;
  Step& there = step_at(step);
  Output& input = there.inputs[static_cast<std::size_t>(index)];
  if (there.missing == 0 || input != nullptr) return false;
  input = output;
  // What lies before its first task has been left out by begin(); until then nothing can run.
  if (--there.missing != 0 || step != next_ || runs_) return true;
  runs_ = true;
  lock.unlock();
  scheduler_.schedule(*this);
  return true;
}

void Column::execute_column(Task& task) noexcept {
  auto& column = static_cast<Column&>(task);
  try {
    column.run();
  } catch (const std::exception& error) {
    column.graphs_.failed(error.what());
  }
}

void Column::run() {
  std::unique_lock lock(mutex_);
  const long step = next_;
  const std::vector<Output> inputs = std::move(steps_.front().inputs);
  lock.unlock();
  const Output output = call_core(step, inputs);
  const long following = shape_.next_step(step + 1, point_);
  const bool is_last = following == shape_.graph().timesteps;
  graphs_.hand_on(shape_.graph().graph_index, step, point_, output);
  lock.lock();
  const bool can_run = advance(following);
  lock.unlock();
  // From here on another worker may run this column, or end it.
  if (can_run) scheduler_.schedule(*this);
  if (is_last) graphs_.column_ended();
}

Output Column::call_core(long step, const std::vector<Output>& inputs) {
  const TaskGraph& graph = shape_.graph();
  std::vector<const char*> pointers;
  std::vector<std::size_t> sizes;
  pointers.reserve(inputs.size());
  sizes.reserve(inputs.size());
  for (const Output& input : inputs) {
    pointers.push_back(input->data());
    sizes.push_back(input->size());
  }
  const auto output = std::make_shared<parcel::Array<char>>(graph.output_bytes_per_task);
  graph.execute_point(step, point_, output->data(), output->size(), pointers.data(), sizes.data(),
                      pointers.size(), scratch_.get(), graph.scratch_bytes_per_task);
  return output;
}

}  // namespace weft::task_bench
