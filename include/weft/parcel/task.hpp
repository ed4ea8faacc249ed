// Tasks and the scheduler that runs them: what futures, channels and coroutines stand on.
#pragma once

#include <weft/detail/export.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace weft::parcel {

/// A piece of work in an intrusive queue. `execute` runs it, once, and disposes of it.
struct Task {
  using Execute = void (*)(Task&) noexcept;
  explicit Task(Execute run) noexcept : execute(run) {}
  Execute execute;
  Task* next = nullptr;
};

enum class Priority : std::uint8_t {
  low,     ///< when a worker has nothing else to do; now and then also before that
  normal,  ///< last in first out by the worker that has made it; others steal the oldest
  high,    ///< before all normal ones, first in first out
};

/// Hints of how a task is to run.
struct SpawnOptions {
  Priority priority = Priority::normal;
  /// The worker that should run it, modulo the number of workers: another one takes it only when it has
  /// nothing else to do. Such tasks are normal ones. -1: any.
  int worker = -1;
};

/// Runs tasks on the worker threads of one Runtime.
class WEFT_API Scheduler {
 public:
  /// Hands over a task: to the calling worker's own deque, or, from any other thread, to all workers. Any
  /// thread, any time while the runtime lives.
  virtual void schedule(Task& task) noexcept = 0;
  virtual void schedule(Task& task, const SpawnOptions& options) noexcept = 0;
  /// Runs the task on the caller's stack, if the caller is a task whose worker would take it next, and there
  /// is room: for whoever waits for just this task. False: it has begun, or is left to the workers.
  virtual bool run_here(Task& task) noexcept = 0;
  /// The scheduler whose worker the calling thread is; nullptr for other threads. Any thread.
  [[nodiscard]] static Scheduler* current() noexcept;

 protected:
  ~Scheduler() = default;
};

namespace detail {

/// Memory for tasks and futures, which the threads that free it keep for the next ones. Throws
/// std::bad_alloc. Any thread.
[[nodiscard]] WEFT_API void* take_task_memory(std::size_t size);
WEFT_API void give_task_memory(void* memory, std::size_t size) noexcept;

/// Objects of classes that derive from it lie there, unless they have an alignment of their own.
struct InTaskMemory {
  static void* operator new(std::size_t size) { return take_task_memory(size); }
  static void operator delete(void* memory, std::size_t size) noexcept { give_task_memory(memory, size); }
  static void* operator new(std::size_t size, std::align_val_t alignment) {
    return ::operator new(size, alignment);
  }
  static void operator delete(void* memory, std::size_t, std::align_val_t alignment) noexcept {
    ::operator delete(memory, alignment);  // clang before 19 has no sized form
  }
};

/// A task that runs a callable.
template <class Function>
class FunctionTask final : public Task, public InTaskMemory {
 public:
  explicit FunctionTask(Function function) : Task(&run), function_(std::move(function)) {}

 private:
  static void run(Task& task) noexcept {
    auto& self = static_cast<FunctionTask&>(task);
    self.function_();
    delete &self;
  }
  Function function_;
};

template <class Function>
void schedule_call(Scheduler& scheduler, Function function) {
  scheduler.schedule(*new FunctionTask<Function>(std::move(function)));
}

}  // namespace detail
}  // namespace weft::parcel
