// The stacks that tasks run on, and the switches between them.
#pragma once

#include <weft/parcel/task.hpp>
#include <weft/parcel/waiter.hpp>

#include <boost/context/fiber.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "parcel/tasks/sanitizer.hpp"

namespace weft::parcel {

struct Worker;
class WorkerPool;

/// What a switch leaves to be done on the stack that it goes to: only then may others see the one it left.
struct AfterSwitch {
  void (*run)(void* argument) noexcept = nullptr;
  void* argument = nullptr;
};

/// A stack with what runs on it: a worker's loop, and the tasks that it calls. Where a task waits, its stack
/// is left, and the worker goes on with the loop of another. As a Task it goes on on its stack.
///
/// What is called through a switch may return in another thread: nothing that names the thread, its worker or
/// a thread_local address outlives a call that may wait.
class TaskStack final : public Task {
 public:
  /// `lowest`, `size`: its memory. `main` runs on it when it is first switched to, and does not return.
  TaskStack(WorkerPool& pool, std::byte* lowest, std::size_t size, void (*main)(TaskStack&));
  /// A thread's own stack, from which it goes to others.
  explicit TaskStack(WorkerPool& pool) noexcept;
  /// What runs on it has nothing to destroy: it is a loop without a task, and just ends with its memory.
  ~TaskStack();
  TaskStack(const TaskStack&) = delete;
  TaskStack& operator=(const TaskStack&) = delete;

  /// The stack that the calling thread runs on, or nullptr: a thread that is no worker. Never inlined, so
  /// that no caller keeps the address of a thread_local.
  [[nodiscard, gnu::noinline]] static TaskStack* current() noexcept;
  [[gnu::noinline]] static void set_current(TaskStack* stack) noexcept;

  /// Leaves this stack, on which the caller runs, for `target`, whose worker becomes the one of this.
  /// Returns when something switches back to it, maybe in another thread.
  __attribute__((no_sanitize("thread"))) void switch_to(TaskStack& target, AfterSwitch after) noexcept;

  /// Whether running the task goes on with one that has waited.
  [[nodiscard]] static bool is_stack(const Task& task) noexcept { return task.execute == &resume; }

  [[nodiscard]] WorkerPool& pool() const noexcept { return pool_; }
  /// Bytes between the caller's frame and the end of this stack.
  [[nodiscard]] [[gnu::always_inline]] std::size_t room() const noexcept {
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - lowest_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // What the task waits for, for other threads to read.
  struct ReportedWait {
    const char* what = nullptr;
    const void* subject = nullptr;
    const char* file = "";
    const char* function = "";
    std::uint32_t line = 0;
    std::uint64_t count = 0;
  };
  /// False: it does not wait, or has begun to just now.
  [[nodiscard]] bool look(ReportedWait& wait) const noexcept;
  void waits_for(const WaitReason& reason) noexcept;
  void waits_no_more() noexcept { wait_.what.store(nullptr, std::memory_order_release); }

  Worker* worker = nullptr;         ///< who runs it
  TaskStack* next_stack = nullptr;  ///< in a list of stacks without tasks
  int caller = -1;                  ///< the rank that has called the action which runs on it; -1: it is none

 private:
  struct Exceptions {  // of __cxa_get_globals(): those being handled and thrown belong to the task
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  struct Wait {
    std::atomic<const char*> what{nullptr};  // nullptr: it does not wait
    std::atomic<const void*> subject{nullptr};
    std::atomic<const char*> file{nullptr};
    std::atomic<const char*> function{nullptr};
    std::atomic<std::uint32_t> line{0};
    std::atomic<std::uint64_t> count{0};  // of the waits so far
  };
  static void resume(Task& task) noexcept;
  void arrive(boost::context::fiber&& from) noexcept;

  WorkerPool& pool_;
  std::uintptr_t lowest_ = 0;
  std::size_t size_ = 0;
  void (*main_)(TaskStack&) = nullptr;
  union {
    boost::context::fiber context_;  // where it was left; its destructor would unwind it
  };
  SanitizedStack sanitized_;
  Exceptions exceptions_;
  TaskStack* left_ = nullptr;  // by the switch to this
  AfterSwitch after_;
  Wait wait_;
};

}  // namespace weft::parcel
