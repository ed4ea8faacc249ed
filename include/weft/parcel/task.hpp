// Tasks and the scheduler that runs them: what futures, channels and coroutines stand on.
#pragma once

#include <weft/detail/export.hpp>

#include <cstdint>
#include <utility>

namespace weft::parcel {

/// A piece of work in an intrusive queue. `execute` runs it, once, and disposes of it.
struct Task {
  using Execute = void (*)(Task&) noexcept;
  explicit Task(Execute run) noexcept : execute(run) {}
  Execute execute;
  Task* next = nullptr;
};

/// Runs tasks on the worker threads of one Runtime.
class WEFT_API Scheduler {
 public:
  /// Hands over a task: to the calling worker's own deque, or, from any other thread, to all workers. Any
  /// thread, any time while the runtime lives.
  virtual void schedule(Task& task) noexcept = 0;
  /// Runs other tasks, and moves communication, until `is_done(context)`; for worker threads only. Tasks
  /// nest: where many wait for each other in a row, use co_await or then(), which need no stack.
  virtual void help_until(bool (*is_done)(void*) noexcept, void* context) noexcept = 0;
  /// Ends the sleep of workers inside help_until(), which look at their conditions again. Any thread.
  virtual void wake() noexcept = 0;
  /// The scheduler whose worker the calling thread is; nullptr for other threads. Any thread.
  [[nodiscard]] static Scheduler* current() noexcept;

 protected:
  ~Scheduler() = default;
};

namespace detail {

/// A task that runs a callable.
template <class Function>
class FunctionTask final : public Task {
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
