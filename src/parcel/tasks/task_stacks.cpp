#include "parcel/tasks/task_stacks.hpp"

#include <new>

#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {

TaskStack& TaskStacks::take_shared() {
  const std::lock_guard lock(mutex_);
  if (TaskStack* const idle = idle_; idle != nullptr) {
    idle_ = idle->next_stack;
    return *idle;
  }
  all_.reserve(all_.size() + 1);
  std::byte* const lowest = memory_.make();
  constexpr std::size_t kOwn = (sizeof(TaskStack) + 63) / 64 * 64;
  const std::size_t size = memory_.usable_size() - kOwn;
  all_.push_back(new (lowest + size) TaskStack(pool_, lowest, size, main_));
  return *all_.back();
}

void TaskStacks::share(TaskStack& stack) noexcept {
  const std::lock_guard lock(mutex_);
  stack.next_stack = idle_;
  idle_ = &stack;
}

void TaskStacks::keep_left(void* stack) noexcept {
  auto& left = *static_cast<TaskStack*>(stack);
  left.pool().stacks().keep(*left.worker, left);
}

void TaskStacks::end() noexcept {
  for (TaskStack* const stack : all_) stack->~TaskStack();
  all_.clear();
}

}  // namespace weft::parcel
