// Collectives as coroutines: straight-line code that is suspended while messages are under way, and resumed
// by whoever brings the last one.
#pragma once

#include "bindings/mpi/collectives/frames.hpp"

#include <coroutine>
#include <exception>
#include <utility>

namespace weft::mpi {

/// Learns of the end of a task that no coroutine awaits.
struct TaskEnd {
  virtual void task_has_ended() noexcept = 0;

 protected:
  ~TaskEnd() = default;
};

/// A part of a collective. It begins when it is awaited, or started.
class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct promise_type {
    static void* operator new(std::size_t size) { return allocate_frame(size); }
    static void operator delete(void* frame, std::size_t size) noexcept { free_frame(frame, size); }

    Task get_return_object() noexcept { return Task(Handle::from_promise(*this)); }
    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    struct Continue {
      [[nodiscard]] bool await_ready() const noexcept { return false; }
      [[nodiscard]] std::coroutine_handle<> await_suspend(Handle ended) const noexcept {
        if (ended.promise().end == nullptr) return ended.promise().continuation;
        ended.promise().end->task_has_ended();  // and the task may be gone
        return std::noop_coroutine();
      }
      void await_resume() const noexcept {}
    };
    [[nodiscard]] Continue final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { failure = std::current_exception(); }

    std::coroutine_handle<> continuation;
    TaskEnd* end = nullptr;  // instead of a continuation
    std::exception_ptr failure;
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().continuation = awaiting;
    return handle_;
  }
  /// Begins the task, which must last until `end` has been told.
  void start(TaskEnd& end) {
    handle_.promise().end = &end;
    handle_.resume();
  }
  /// Fails with what the task has failed with.
  void await_resume() const {
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
  }

 private:
  explicit Task(Handle handle) noexcept : handle_(handle) {}
  Handle handle_;
};

}  // namespace weft::mpi
