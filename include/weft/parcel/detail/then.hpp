// How futures go on: promises that get what a function returns, and continuations. For future.hpp.
#pragma once

#include <weft/parcel/detail/future_state.hpp>

#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

namespace weft::parcel {

template <class T>
class Future;
template <class T>
class Promise;

namespace detail {

/// What a future of a function's result holds: of a Future<T>, its T.
template <class Returned>
struct FutureValue {
  using type = Returned;
  static constexpr bool is_future = false;
};
template <class T>
struct FutureValue<Future<T>> {
  using type = T;
  static constexpr bool is_future = true;
};

/// Gives a promise that nobody else gives a value its value, which is not checked again.
struct PromiseAccess {
  template <class T>
  static FutureState<T>& state(Promise<T>& promise) noexcept {
    return *promise.state_;
  }
  template <class T>
  static void finish(Promise<T>& promise, std::exception_ptr error) noexcept {
    promise.close();
    if (error) [[unlikely]]
      promise.state_->set_exception(std::move(error));
    else
      promise.state_->finish();
  }
};

/// Sets a promise to what `function()` returns or throws.
template <class T, class Function>
void fulfil(Promise<T>& promise, Function&& function) noexcept {
  std::exception_ptr error;  // set when it is no longer being handled here
  try {
    if constexpr (std::is_void_v<T>) {
      function();
      PromiseAccess::state(promise).put();
    } else {
      PromiseAccess::state(promise).put(function());
    }
  } catch (...) {
    error = std::current_exception();
  }
  PromiseAccess::finish(promise, std::move(error));
}

/// Ends `promise` as `future` ends.
template <class T>
void forward(Promise<T> promise, Future<T> future) noexcept {
  if (!future.valid()) {
    fulfil(promise, []() -> T { throw_no_future("then()"); });
    return;
  }
  FutureState<T>& state = future.state();
  state.when_ready(
      continuation([promise = std::move(promise), future = std::move(future)]() mutable noexcept {
        if (std::exception_ptr error = future.state().take_error())
          PromiseAccess::finish(promise, std::move(error));
        else
          fulfil(promise, [&]() -> T { return future.get(); });
      }));
}

/// Ends `promise` as `function()` does, or as the future that it returns.
template <class T, class Function>
void settle(Promise<T> promise, Function&& function) noexcept {
  if constexpr (FutureValue<decltype(function())>::is_future) {
    Future<T> future;
    std::exception_ptr error;
    try {
      future = function();
    } catch (...) {
      error = std::current_exception();
    }
    if (error)
      PromiseAccess::finish(promise, std::move(error));
    else
      forward(std::move(promise), std::move(future));
  } else {
    fulfil(promise, function);
  }
}

template <class Function, class T>
inline constexpr bool takes_value = std::is_invocable_v<Function&, T>;
template <class Function>
inline constexpr bool takes_value<Function, void> = std::is_invocable_v<Function&>;

/// Calls a continuation with the value of a state that is ready, or with a future of it.
template <class T, class Function>
decltype(auto) call_with(Function& function, FutureReference<T>& state) {
  if constexpr (!takes_value<Function, T>) {
    static_assert(std::is_invocable_v<Function&, Future<T>>,
                  "weft: then() needs a function of the future's value, or of the future itself");
    return function(Future<T>(std::move(state)));
  } else if constexpr (std::is_void_v<T>) {
    state->take();
    return function();
  } else {
    return function(state->take());
  }
}

/// What is called when a future is ready, and the promise of its result.
template <class T, class Function>
struct ThenCall {
  using Returned = decltype(call_with<T>(std::declval<Function&>(), std::declval<FutureReference<T>&>()));
  using Result = typename FutureValue<std::decay_t<Returned>>::type;

  FutureReference<T> state;
  Promise<Result> promise;
  Function function;

  void operator()() noexcept {
    if constexpr (takes_value<Function, T>) {
      if (std::exception_ptr error = state->take_error()) {
        PromiseAccess::finish(promise, std::move(error));
        return;
      }
    }
    settle(std::move(promise), [this]() -> std::decay_t<Returned> { return call_with<T>(function, state); });
  }
};

/// co_await of a future, whose state it keeps.
template <class T>
class Awaiting final : public Continuation {
 public:
  explicit Awaiting(FutureReference<T> state) noexcept : Continuation(&resume), state_(std::move(state)) {}
  [[nodiscard]] bool await_ready() const noexcept { return state_->ready(); }
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    handle_ = handle;
    state_->when_ready(*this);  // the coroutine may be over already
  }
  T await_resume() { return state_->take(); }

 private:
  static void resume(Task& task) noexcept { static_cast<Awaiting&>(task).handle_.resume(); }
  FutureReference<T> state_;
  std::coroutine_handle<> handle_;
};

}  // namespace detail
}  // namespace weft::parcel
