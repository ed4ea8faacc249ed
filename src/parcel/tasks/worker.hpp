// One worker: its tasks, its stacks, its counts. Threads come and go.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "parcel/tasks/steal_deque.hpp"
#include "parcel/tasks/task_stack.hpp"

namespace weft::parcel {

/// Tasks that other threads hand over, first in first out. Any thread.
class TaskQueue {
 public:
  void push(Task& task) noexcept {
    task.next = nullptr;
    const std::lock_guard lock(mutex_);
    (last_ != nullptr ? last_->next : first_) = &task;
    last_ = &task;
    count_.fetch_add(1, std::memory_order_release);
  }
  /// nullptr: empty.
  [[nodiscard]] Task* take() noexcept {
    if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    Task* const task = first_;
    if (task == nullptr) return nullptr;
    first_ = task->next;
    if (first_ == nullptr) last_ = nullptr;
    count_.fetch_sub(1, std::memory_order_relaxed);
    return task;
  }
  [[nodiscard]] bool is_empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

 private:
  std::atomic<std::uint64_t> count_{0};
  std::mutex mutex_;
  Task* first_ = nullptr;
  Task* last_ = nullptr;
};

struct WorkerThread;

struct alignas(64) Worker {
  WorkerPool* pool = nullptr;
  unsigned number = 0;               // of a stand-in: WorkerPool::outside()
  unsigned slot = 0;                 // WorkerPool::slot()
  WorkerThread* thread = nullptr;    // which runs it, guarded by the pool's mutex of threads
  TaskStack* paused = nullptr;       // its loop, where a Stepper runs it
  TaskStack* idle_stacks = nullptr;  // loops without a task, last used first
  std::uint32_t idle_count = 0;
  std::uint32_t since_poll = 0;      // tasks
  std::uint32_t tasks_per_poll = 1;  // while there are tasks; fewer where they are long
  std::chrono::steady_clock::time_point last_poll{};
  bool takes_oldest = false;     // next, so that tasks that make tasks starve no other
  std::uint32_t old_source = 0;  // of that task: each source has its turn
  std::uint32_t random = 0;
  bool has_rested = false;  // since it has told the watch that it works, see StandIns
  StealDeque<Task> deque;
  TaskQueue given;  // for this worker, as a hint
  // Written by whoever runs the worker, alone.
  std::atomic<std::uint64_t> made{0};
  std::atomic<std::uint64_t> finished{0};
  std::atomic<std::uint64_t> stolen{0};
  std::atomic<std::uint64_t> parks{0};
  std::atomic<std::uint64_t> resumed{0};  // tasks that had waited
  std::atomic<bool> is_parked{false};
  // Of a stand-in, see StandIns:
  std::atomic<bool> has_turn{false};
  std::atomic<const void*> kind{nullptr};  // of the task that it has begun

  [[nodiscard]] bool is_stand_in() const noexcept { return slot != number; }
};

/// Adds to a count that only the caller writes.
inline void add_alone(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace weft::parcel
