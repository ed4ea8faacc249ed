// Executors: where continuations and functions run.
#pragma once

#include <weft/parcel/runtime.hpp>

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace weft::parcel {

/// Runs functions somewhere: execute(function) calls `function()` once, now or later, in a thread of its own
/// choice; or throws, and does not. Copyable. (std's P0443: "executor"; HPX and Asio have the same.)
template <class E>
concept Executor = std::is_copy_constructible_v<E> &&
    requires(const E& executor, std::function<void()> function) {
  executor.execute(std::move(function));
};

/// Tasks of a runtime. Outlived by the runtime.
class TaskExecutor {
 public:
  explicit TaskExecutor(Runtime& runtime) noexcept : scheduler_(&runtime.scheduler()) {}
  template <class Function>
  void execute(Function function) const {
    detail::schedule_call(*scheduler_, [function = std::move(function)]() mutable noexcept { function(); });
  }
  friend bool operator==(const TaskExecutor&, const TaskExecutor&) = default;

 private:
  Scheduler* scheduler_;
};

/// The calling thread, at once.
class InlineExecutor {
 public:
  template <class Function>
  void execute(Function function) const {
    function();
  }
  friend bool operator==(const InlineExecutor&, const InlineExecutor&) = default;
};

/// A thread pool of another library, or anything else that runs functions: `post(std::function<void()>)`
/// hands one over. FunctionExecutor([&pool](auto function) { asio::post(pool, std::move(function)); })
template <class Post>
class FunctionExecutor {
 public:
  explicit FunctionExecutor(Post post) : post_(std::move(post)) {}
  template <class Function>
  void execute(Function function) const {
    // Pools want functions that can be copied.
    post_(std::function<void()>([shared = std::make_shared<Function>(std::move(function))] { (*shared)(); }));
  }

 private:
  Post post_;
};

/// Calls `function` on the executor, and returns the future of its result. What the executor throws, and
/// BrokenPromise when it drops the function, end the future.
template <Executor E, class Function>
auto submit(const E& executor, Function function) {
  using Returned = std::invoke_result_t<Function&>;
  using Result = typename detail::FutureValue<Returned>::type;
  struct Call {
    Promise<Result> promise;
    Function function;
    Call(Promise<Result> result, Function what) : promise(std::move(result)), function(std::move(what)) {}
  };
  Promise<Result> promise;
  Future<Result> future = promise.future();
  auto call = std::make_unique<Call>(std::move(promise), std::move(function));
  try {
    executor.execute([call = std::move(call)]() mutable {
      detail::settle(std::move(call->promise), [&]() -> Returned { return call->function(); });
    });
  } catch (...) {
    return make_failed<Result>(std::current_exception());
  }
  return future;
}

template <class T>
template <class E, class Function>
auto Future<T>::then(const E& executor, Function function) {
  static_assert(Executor<E>, "weft: then() with two arguments takes an executor and a function");
  using Call = detail::ThenCall<T, Function>;
  // The future itself travels to the executor; what it holds is unwrapped there.
  return std::move(*this).then([executor, function = std::move(function)](Future<T> ready) mutable {
    return submit(executor, [ready = std::move(ready), function = std::move(function)]() mutable {
      auto state = std::move(ready).release();
      if constexpr (detail::takes_value<Function, T>) {
        if (std::exception_ptr error = state->take_error()) std::rethrow_exception(std::move(error));
      }
      return static_cast<typename Call::Returned>(detail::call_with<T>(function, state));
    });
  });
}

}  // namespace weft::parcel
