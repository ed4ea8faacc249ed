// Futures with several consumers.
#pragma once

#include <weft/parcel/future.hpp>

#include <source_location>
#include <utility>

namespace weft::parcel {

namespace detail {

/// co_await of a shared future.
template <class T>
class SharedAwaiting final : public Continuation {
 public:
  explicit SharedAwaiting(FutureReference<T> state) noexcept
      : Continuation(&resume), state_(std::move(state)) {}
  [[nodiscard]] bool await_ready() const noexcept { return state_->ready(); }
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    handle_ = handle;
    state_->when_ready(*this);
  }
  T await_resume() {
    if constexpr (std::is_void_v<T>)
      static_cast<void>(state_->look());
    else
      return state_->look();
  }

 private:
  static void resume(Task& task) noexcept { static_cast<SharedAwaiting&>(task).handle_.resume(); }
  FutureReference<T> state_;
  std::coroutine_handle<> handle_;
};

}  // namespace detail

/// A future whose value stays where it is, for any number of consumers: copies name the same value, and each
/// may be asked any number of times, by any thread. Made by Future::share(). What it throws, it throws each
/// time. Calls for the value of one that has none throw FutureMisuse.
template <class T>
class [[nodiscard]] SharedFuture {
 public:
  using value_type = T;

  SharedFuture() noexcept = default;
  /// Takes over the future, which becomes invalid.
  explicit SharedFuture(Future<T>&& future) : SharedFuture(std::move(future).share()) {}
  explicit SharedFuture(detail::FutureReference<T> state) noexcept : state_(std::move(state)) {}

  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(state_); }
  [[nodiscard]] bool ready() const { return look("ready()").ready(); }
  /// As Future::wait().
  void wait(const std::source_location& where = std::source_location::current()) const {
    look("wait()").wait(where);
  }

  /// As those of Future.
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

  /// wait(), and the value, which lives as long as a copy of this future; or throws.
  decltype(auto) get(const std::source_location& where = std::source_location::current()) const& {
    detail::FutureState<T>& state = look("get()");
    state.wait(where);
    if constexpr (std::is_void_v<T>)
      static_cast<void>(state.look());
    else
      return state.look();
  }
  /// Of a temporary: a copy of the value.
  T get(const std::source_location& where = std::source_location::current()) && {
    if constexpr (std::is_void_v<T>)
      std::as_const(*this).get(where);
    else
      return std::as_const(*this).get(where);
  }

  /// As Future::then(), with a copy of the value; any number of times.
  template <class Function>
  auto then(Function function) const {
    return copy().then(std::move(function));
  }
  /// A future of its own of a copy of the value, for what takes futures: when_all(), when_any().
  [[nodiscard]] Future<T> copy() const {
    detail::FutureReference<T> state = reference("copy()");
    Promise<T> promise(state->scheduler());
    Future<T> result = promise.future();
    detail::FutureState<T>& waited = *state;
    waited.when_ready(
        detail::continuation([state = std::move(state), promise = std::move(promise)]() mutable noexcept {
          detail::fulfil(promise, [&]() -> T {
            if constexpr (std::is_void_v<T>)
              static_cast<void>(state->look());
            else
              return state->look();
          });
        }));
    return result;
  }

  /// co_await: a copy of the value, or throws.
  [[nodiscard]] detail::SharedAwaiting<T> operator co_await() const {
    return detail::SharedAwaiting<T>(reference("co_await"));
  }

 private:
  [[nodiscard]] const detail::FutureReference<T>& reference(const char* call) const {
    if (!state_) [[unlikely]]
      detail::throw_no_future(call);
    return state_;
  }
  [[nodiscard]] detail::FutureState<T>& look(const char* call) const { return *reference(call); }

  detail::FutureReference<T> state_;
};

template <class T>
SharedFuture<T> Future<T>::share() && {
  return SharedFuture<T>(take_state("share()"));
}

}  // namespace weft::parcel
