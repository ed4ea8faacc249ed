// Futures with continuations.
#pragma once

#include <weft/parcel/detail/future_state.hpp>
#include <weft/parcel/detail/then.hpp>
#include <weft/parcel/task.hpp>
#include <weft/parcel/waiter.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <source_location>
#include <type_traits>
#include <utility>

namespace weft::parcel {

template <class T>
class SharedFuture;

/// A value that is not there yet, of an action on some rank, a task, or a channel. Move-only, with one
/// consumer: get(), then(), co_await or share(), once; SharedFuture is for several. Calls for a value that a
/// future does not have (any more) throw FutureMisuse. Any thread, one at a time.
///
/// A function whose return type is Future<T> may be a coroutine: it begins at once, in its caller, and goes
/// on as a task of the runtime when what it awaits is there. Its value is ready once its frame, with its
/// parameters and local variables, has been destroyed.
template <class T>
class [[nodiscard]] Future {
 public:
  using value_type = T;
  struct promise_type;

  Future() noexcept = default;
  explicit Future(detail::FutureReference<T> state) noexcept : state_(std::move(state)) {}
  Future(Future&&) noexcept = default;
  Future& operator=(Future&&) noexcept = default;
  Future(const Future&) = delete;
  Future& operator=(const Future&) = delete;
  ~Future() = default;

  /// False after get(), then(), co_await and share(), and for a default-constructed future.
  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(state_); }
  [[nodiscard]] bool ready() const { return look("ready()").ready(); }

  /// Waits until the value is there: a task gives up its worker, any other thread sleeps. `where` is for
  /// explanations.
  void wait(const std::source_location& where = std::source_location::current()) const {
    look("wait()").wait(where);
  }
  /// wait(), but no longer than until the deadline: false when the value is not there then, and the future
  /// still waits for it. Any clock of the standard library.
  template <class Deadline>
  [[nodiscard]] bool wait_until(const Deadline& deadline,
                                const std::source_location& where = std::source_location::current()) const {
    return look("wait_until()").wait_until(detail::steady_deadline(deadline), where);
  }
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& longest,
                              const std::source_location& where = std::source_location::current()) const {
    return look("wait_for()").wait_until(detail::steady_deadline(longest), where);
  }
  /// wait(), and returns the value, or throws what the action threw: RemoteError, PeerFailed, or the
  /// exception itself when it was thrown in this process.
  T get(const std::source_location& where = std::source_location::current()) {
    auto state = take_state("get()");
    state->wait(where);
    return state->take();
  }

  /// Calls `function` with the value, as a task, when it is there, and returns the future of its result; of a
  /// function that returns a `Future<U>`, that is a `Future<U>`. An exception goes on to that future, and
  /// `function` is not called; one that takes a `Future<T>` instead of a T gets exceptions as well, in a
  /// future that is ready.
  template <class Function>
  auto then(Function function);
  /// Likewise by an executor (executor.hpp), instead of as a task.
  template <class E, class Function>
  auto then(const E& executor, Function function);

  /// A future that may be copied and asked by several.
  [[nodiscard]] SharedFuture<T> share() &&;

  /// co_await future: the value, or throws. The coroutine goes on as a task.
  [[nodiscard]] detail::Awaiting<T> operator co_await() {
    return detail::Awaiting<T>(take_state("co_await"));
  }

  [[nodiscard]] detail::FutureState<T>& state() const { return look("state()"); }
  /// Gives up the state.
  [[nodiscard]] detail::FutureReference<T> release() && { return take_state("release()"); }

 private:
  [[nodiscard]] detail::FutureState<T>& look(const char* call) const {
    if (!state_) [[unlikely]]
      detail::throw_no_future(call);
    return *state_;
  }
  [[nodiscard]] detail::FutureReference<T> take_state(const char* call) {
    if (!state_) [[unlikely]]
      detail::throw_no_future(call);
    return std::move(state_);
  }

  detail::FutureReference<T> state_;
};

/// The side of a future that gives it its value. Destroyed without one, its future ends with BrokenPromise.
/// One of several threads that set it at the same time does; the others' calls throw FutureMisuse.
template <class T>
class Promise {
 public:
  /// `scheduler` runs the continuations; by default the one of the calling worker (nullptr elsewhere: then
  /// continuations run in the thread that sets the value, or as tasks of the worker that does).
  explicit Promise(Scheduler* scheduler = Scheduler::current())
      : state_(detail::make_state<T>(scheduler)), is_open_(true) {}
  Promise(Promise&& other) noexcept
      : state_(std::move(other.state_)),
        is_open_(other.close()),
        has_given_future_(std::exchange(other.has_given_future_, false)) {}
  Promise& operator=(Promise&& other) noexcept {
    Promise(std::move(other)).swap(*this);
    return *this;
  }
  Promise(const Promise&) = delete;
  Promise& operator=(const Promise&) = delete;
  ~Promise() {
    if (close()) state_->set_exception(std::make_exception_ptr(BrokenPromise()));
  }

  /// The future of the value; once. FutureMisuse otherwise.
  [[nodiscard]] Future<T> future() {
    if (!state_) detail::throw_no_promise("future()", kMoved);
    if (std::exchange(has_given_future_, true))
      detail::throw_no_promise("future()",
                               "that has given its future already: share that one, future().share()");
    return Future<T>(state_);
  }
  /// Gives the value; once, and not after set_exception(). FutureMisuse otherwise.
  template <class... Value>
  void set(Value&&... value) {
    claim("set()");
    try {
      state_->put(std::forward<Value>(value)...);
    } catch (...) {
      is_open_.store(true, std::memory_order_relaxed);  // there is no value yet
      throw;
    }
    state_->finish();
  }
  /// Ends the future with an exception; once, and not after set(). FutureMisuse otherwise.
  void set_exception(std::exception_ptr error) {
    claim("set_exception()");
    if (!error) {
      is_open_.store(true, std::memory_order_relaxed);
      detail::throw_no_promise("set_exception()", "with a null exception_ptr: there is nothing to throw");
    }
    state_->set_exception(std::move(error));
  }
  /// Whether `state` is the one of its future. For explanations.
  [[nodiscard]] bool is_of(const void* state) const noexcept {
    return state_ && static_cast<const detail::FutureStateBase*>(&*state_) == state;
  }

 private:
  friend struct detail::PromiseAccess;
  static constexpr const char* kMoved = "that was moved from: the one that it was moved to has the future";

  void swap(Promise& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(has_given_future_, other.has_given_future_);
    const bool was_open = close();
    is_open_.store(other.close(), std::memory_order_relaxed);
    other.is_open_.store(was_open, std::memory_order_relaxed);
  }
  bool close() noexcept {
    const bool was_open = is_open_.load(std::memory_order_relaxed);
    is_open_.store(false, std::memory_order_relaxed);
    return was_open;
  }
  void claim(const char* call) {
    if (is_open_.exchange(false, std::memory_order_acq_rel)) [[likely]]
      return;
    if (!state_) detail::throw_no_promise(call, kMoved);
    detail::throw_no_promise(call, "that has its value or exception already: a promise is set once");
  }

  detail::FutureReference<T> state_;
  std::atomic<bool> is_open_{false};
  bool has_given_future_ = false;
};

/// A future that is ready.
template <class T>
[[nodiscard]] Future<std::decay_t<T>> make_ready(T&& value) {
  auto state = detail::make_state<std::decay_t<T>>(Scheduler::current());
  state->set(std::forward<T>(value));
  return Future<std::decay_t<T>>(std::move(state));
}
[[nodiscard]] inline Future<void> make_ready() {
  auto state = detail::make_state<void>(Scheduler::current());
  state->set();
  return Future<void>(std::move(state));
}
/// A future that is ready, and throws `error`.
template <class T>
[[nodiscard]] Future<T> make_failed(std::exception_ptr error) {
  auto state = detail::make_state<T>(Scheduler::current());
  state->set_exception(std::move(error));
  return Future<T>(std::move(state));
}

template <class T>
template <class Function>
auto Future<T>::then(Function function) {
  using Call = detail::ThenCall<T, Function>;
  auto state = take_state("then()");
  Promise<typename Call::Result> promise(state->scheduler());
  auto result = promise.future();
  detail::FutureState<T>& waited = *state;
  waited.when_ready(detail::continuation(Call{std::move(state), std::move(promise), std::move(function)}));
  return result;
}

}  // namespace weft::parcel

// Behind what they stand on:
#include <weft/parcel/detail/coroutine.hpp>
#include <weft/parcel/shared_future.hpp>
#include <weft/parcel/when.hpp>
