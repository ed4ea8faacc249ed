// Coroutines that return a Future. Included by future.hpp.
#pragma once

#include <weft/parcel/future.hpp>

#include <coroutine>

namespace weft::parcel {

namespace detail {

/// Whether this thread's stack, or this task's, has room for a coroutine and what it calls. Throws
/// weft::Error where it has none and no worker could go on with the coroutine.
[[nodiscard]] WEFT_API bool has_room_for_coroutine();

/// A coroutine begins in its caller. Where coroutines have begun each other until the stack is nearly used
/// up, it begins as a task.
class BeginsHere final : public Task {
 public:
  BeginsHere() noexcept : Task(&resume) {}
  [[nodiscard]] bool await_ready() const { return has_room_for_coroutine(); }
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    handle_ = handle;
    Scheduler::current()->schedule(*this);
  }
  void await_resume() const noexcept {}

 private:
  static void resume(Task& task) noexcept { static_cast<BeginsHere&>(task).handle_.resume(); }
  std::coroutine_handle<> handle_;
};

template <class T>
class CoroutineBase {
 public:
  CoroutineBase() = default;
  ~CoroutineBase() {
    if (state) state->set_exception(std::make_exception_ptr(BrokenPromise()));
  }
  CoroutineBase(const CoroutineBase&) = delete;
  CoroutineBase& operator=(const CoroutineBase&) = delete;

  Future<T> get_return_object() { return Future<T>(state); }
  BeginsHere initial_suspend() noexcept { return {}; }
  auto final_suspend() noexcept { return Ends{}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }

 protected:
  FutureReference<T> state = make_state<T>(Scheduler::current());
  std::exception_ptr error;

 private:
  struct Ends {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promised>
    void await_suspend(std::coroutine_handle<Promised> handle) noexcept {
      end(handle, handle.promise());
    }
    void await_resume() const noexcept {}
  };
  // Not inlined, as its variables must not lie in the frame.
  [[gnu::noinline]] static void end(std::coroutine_handle<> handle, CoroutineBase& self) noexcept {
    const FutureReference<T> ended = std::move(self.state);
    std::exception_ptr error = std::move(self.error);
    handle.destroy();
    if (error)
      ended->set_exception(std::move(error));
    else
      ended->finish();
  }
};

template <class T>
struct CoroutinePromise : CoroutineBase<T> {
  template <class Value>
  void return_value(Value&& value) {
    this->state->put(std::forward<Value>(value));
  }
};
template <>
struct CoroutinePromise<void> : CoroutineBase<void> {
  void return_void() { state->put(); }
};

}  // namespace detail

template <class T>
struct Future<T>::promise_type : detail::CoroutinePromise<T> {};

}  // namespace weft::parcel
