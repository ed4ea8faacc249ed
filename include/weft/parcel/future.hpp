// Futures with continuations.
#pragma once

#include <weft/parcel/detail/future_state.hpp>
#include <weft/parcel/task.hpp>

#include <exception>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::parcel {

template <class T>
class Promise;

/// A value that is not there yet, of an action on some rank, a task, or a channel. Move-only; one consumer:
/// get(), then() or co_await, once. Any thread.
///
/// A function whose return type is Future<T> may be a coroutine: it begins at once, in its caller, and goes
/// on as a task of the runtime when what it awaits is there.
template <class T>
class [[nodiscard]] Future {
 public:
  using value_type = T;
  struct promise_type;

  Future() noexcept = default;
  explicit Future(detail::FutureReference<T> state) noexcept : state_(std::move(state)) {}

  /// False after get(), then(), and for a default-constructed future.
  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(state_); }
  [[nodiscard]] bool ready() const noexcept { return state_->ready(); }

  /// Waits until the value is there: a worker runs other tasks meanwhile, any other thread sleeps.
  void wait() const { state_->wait(); }
  /// wait(), and returns the value, or throws what the action threw: RemoteError, PeerFailed, or the
  /// exception itself when it was thrown in this process.
  T get() {
    auto state = std::move(state_);
    state->wait();
    return state->take();
  }

  /// Calls `function` with the value, as a task, when it is there, and returns the future of its result. An
  /// exception goes on to that future, and `function` is not called.
  template <class Function>
  auto then(Function function);

  // co_await future: the value, or throws. The coroutine goes on as a task.
  [[nodiscard]] bool await_ready() const noexcept { return state_->ready(); }
  template <class Handle>
  void await_suspend(Handle handle) {
    state_->when_ready(detail::continuation([handle]() mutable noexcept { handle.resume(); }));
  }
  T await_resume() { return std::exchange(state_, {})->take(); }

  [[nodiscard]] detail::FutureState<T>& state() const noexcept { return *state_; }

 private:
  detail::FutureReference<T> state_;
};

/// The side of a future that gives it its value. Destroyed without one, its future ends with BrokenPromise.
template <class T>
class Promise {
 public:
  /// `scheduler` runs the continuations; by default the one of the calling worker (nullptr elsewhere: then
  /// continuations run in the thread that sets the value).
  explicit Promise(Scheduler* scheduler = Scheduler::current())
      : state_(detail::make_state<T>(scheduler)), is_open_(true) {}
  Promise(Promise&& other) noexcept
      : state_(std::move(other.state_)), is_open_(std::exchange(other.is_open_, false)) {}
  Promise& operator=(Promise&& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(is_open_, other.is_open_);
    return *this;
  }
  ~Promise() {
    if (is_open_) set_exception(std::make_exception_ptr(BrokenPromise()));
  }

  [[nodiscard]] Future<T> future() const { return Future<T>(state_); }
  /// Gives the value; once.
  template <class... Value>
  void set(Value&&... value) {
    is_open_ = false;
    state_->set(std::forward<Value>(value)...);
  }
  void set_exception(std::exception_ptr error) noexcept {
    is_open_ = false;
    state_->set_exception(std::move(error));
  }

 private:
  detail::FutureReference<T> state_;
  bool is_open_ = false;
};

/// A future that is ready.
template <class T>
[[nodiscard]] Future<std::decay_t<T>> make_ready(T&& value) {
  Promise<std::decay_t<T>> promise;
  promise.set(std::forward<T>(value));
  return promise.future();
}

namespace detail {

/// Sets a promise to what `function()` returns or throws.
template <class T, class Function>
void fulfil(Promise<T>& promise, Function&& function) noexcept {
  std::exception_ptr error;  // set when it is no longer being handled here
  try {
    if constexpr (std::is_void_v<T>) {
      function();
      promise.set();
    } else {
      promise.set(function());
    }
    return;
  } catch (...) {
    error = std::current_exception();
  }
  promise.set_exception(std::move(error));
}

template <class Function, class T>
struct ResultOfThen {
  using type = std::invoke_result_t<Function, T>;
};
template <class Function>
struct ResultOfThen<Function, void> {
  using type = std::invoke_result_t<Function>;
};

}  // namespace detail

template <class T>
template <class Function>
auto Future<T>::then(Function function) {
  using Result = typename detail::ResultOfThen<Function, T>::type;
  auto state = std::move(state_);
  Promise<Result> promise(state->scheduler());
  Future<Result> result = promise.future();
  detail::FutureState<T>& waited = *state;
  waited.when_ready(detail::continuation([state = std::move(state), promise = std::move(promise),
                                          function = std::move(function)]() mutable noexcept {
    detail::fulfil(promise, [&]() -> Result {
      if constexpr (std::is_void_v<T>) {
        state->take();
        return function();
      } else {
        return function(state->take());
      }
    });
  }));
  return result;
}

/// A future of all values, in the order of `futures`. The first exception, in that order, ends it, once all
/// are ready. For futures of void it is a Future<void>.
template <class T>
auto when_all(std::vector<Future<T>> futures) {
  using Result = std::conditional_t<std::is_void_v<T>, void, std::vector<detail::NotVoid<T>>>;
  struct Gathering {
    explicit Gathering(std::vector<Future<T>> those) : futures(std::move(those)) {}
    std::vector<Future<T>> futures;
    Promise<Result> promise;
    std::atomic<std::size_t> missing{0};
    void one_is_ready() noexcept {
      if (missing.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      detail::fulfil(promise, [&]() -> Result {
        if constexpr (std::is_void_v<T>) {
          for (auto& future : futures) future.get();
        } else {
          Result values;
          values.reserve(futures.size());
          for (auto& future : futures) values.push_back(future.get());
          return values;
        }
      });
    }
  };
  auto gathering = std::make_shared<Gathering>(std::move(futures));
  Future<Result> result = gathering->promise.future();
  gathering->missing = gathering->futures.size() + 1;
  for (auto& future : gathering->futures)
    future.state().when_ready(detail::continuation([gathering]() noexcept { gathering->one_is_ready(); }));
  gathering->one_is_ready();
  return result;
}

/// A future of a tuple of all values; futures of void are not allowed here.
template <class... Ts>
requires(sizeof...(Ts) > 0 &&
         (!std::is_void_v<Ts> && ...)) Future<std::tuple<Ts...>> when_all(Future<Ts>... futures) {
  struct Gathering {
    std::tuple<Future<Ts>...> futures;
    Promise<std::tuple<Ts...>> promise;
    std::atomic<std::size_t> missing{sizeof...(Ts) + 1};
    void one_is_ready() noexcept {
      if (missing.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      detail::fulfil(promise, [&] {
        return std::apply([](auto&... each) { return std::tuple<Ts...>{each.get()...}; }, futures);
      });
    }
  };
  auto gathering = std::make_shared<Gathering>();
  gathering->futures = {std::move(futures)...};
  auto result = gathering->promise.future();
  std::apply(
      [&](auto&... each) {
        (each.state().when_ready(detail::continuation([gathering]() noexcept { gathering->one_is_ready(); })),
         ...);
      },
      gathering->futures);
  gathering->one_is_ready();
  return result;
}

}  // namespace weft::parcel

#include <weft/parcel/detail/coroutine.hpp>
