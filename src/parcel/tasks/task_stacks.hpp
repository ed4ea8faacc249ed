// The stacks of a pool: those on which tasks run or wait, and those that wait for a task.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "parcel/tasks/stack_memory.hpp"
#include "parcel/tasks/task_stack.hpp"
#include "parcel/tasks/worker.hpp"

namespace weft::parcel {

/// Any thread; a worker's own stacks: whoever runs it.
class TaskStacks {
 public:
  /// `size`: bytes of a stack. `main`: a loop, which runs on a new one and does not return.
  TaskStacks(WorkerPool& pool, std::size_t size, void (*main)(TaskStack&)) noexcept
      : pool_(pool), main_(main), memory_(size) {}

  /// A loop without a task, for the worker. Throws weft::Error when there is no memory for one.
  [[nodiscard]] TaskStack& take(Worker& worker) {
    TaskStack* const idle = worker.idle_stacks;
    if (idle == nullptr) [[unlikely]]
      return take_shared();
    worker.idle_stacks = idle->next_stack;
    --worker.idle_count;
    return *idle;
  }
  /// The loop has no task any more, and is kept for the next one that waits.
  void keep(Worker& worker, TaskStack& stack) noexcept {
    if (worker.idle_count >= kMostOfWorker) [[unlikely]]
      return share(stack);
    stack.next_stack = worker.idle_stacks;
    worker.idle_stacks = &stack;
    ++worker.idle_count;
  }
  /// After a switch: keep().
  static void keep_left(void* stack) noexcept;

  /// Calls visit(number, wait) for each task that waits, up to `most` of them.
  template <class Visit>
  void for_each_wait(std::size_t most, const Visit& visit) {
    const std::lock_guard lock(mutex_);
    for (std::size_t number = 0; number < all_.size() && most != 0; ++number) {
      TaskStack::ReportedWait wait;
      if (!all_[number]->look(wait)) continue;
      visit(number, wait);
      --most;
    }
  }
  /// Nothing runs on any of them.
  void end() noexcept;

 private:
  // Stacks without a task that a worker keeps for itself.
  static constexpr std::uint32_t kMostOfWorker = 64;

  [[nodiscard]] TaskStack& take_shared();
  void share(TaskStack& stack) noexcept;

  WorkerPool& pool_;
  void (*const main_)(TaskStack&);
  StackMemory memory_;
  std::mutex mutex_;
  std::vector<TaskStack*> all_;
  TaskStack* idle_ = nullptr;  // beyond what workers keep
};

}  // namespace weft::parcel
