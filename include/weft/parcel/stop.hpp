// Cancellation, by the stop tokens of the standard library.
#pragma once

#include <weft/parcel/runtime.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace weft::parcel {

namespace detail {

/// Ends a promise once: by its value, or by a request to stop.
template <class T>
struct Stoppable {
  explicit Stoppable(Promise<T> those) : promise(std::move(those)) {}
  Promise<T> promise;
  std::atomic<bool> is_decided{false};
  std::optional<std::stop_callback<std::function<void()>>> callback;

  [[nodiscard]] bool decide() noexcept { return !is_decided.exchange(true, std::memory_order_acq_rel); }
  /// The callback does not keep the record, whose end withdraws it.
  void watch(const std::stop_token& token) {
    callback.emplace(token, [this] {
      if (decide()) promise.set_exception(std::make_exception_ptr(Cancelled()));
    });
  }
};

}  // namespace detail

/// A future that ends as `future` does, or with Cancelled as soon as stop is requested: a wait that can be
/// ended. What `future` waits for goes on, and its value is dropped.
///
/// After folly's Future::within() and cancellation tokens; HPX interrupts threads instead, which we do not:
/// work ends where it looks at its token.
template <class T>
[[nodiscard]] Future<T> stoppable(Future<T> future, const std::stop_token& token) {
  Promise<T> promise(future.state().scheduler());
  Future<T> result = promise.future();
  auto record = std::make_shared<detail::Stoppable<T>>(std::move(promise));
  record->watch(token);
  detail::FutureState<T>& waited = future.state();
  waited.when_ready(detail::continuation([record, future = std::move(future)]() mutable noexcept {
    if (!record->decide()) return;
    detail::forward(std::move(record->promise), std::move(future));
  }));
  return result;
}

/// As Runtime::spawn(). When stop is requested before the task has begun, it never does, and the future ends
/// with Cancelled at once. A function that takes a std::stop_token is given the token, and ends by itself.
template <class Function>
auto spawn(Runtime& runtime, std::stop_token token, Function function) {
  const auto call = [](Function& what, const std::stop_token& given) -> decltype(auto) {
    if constexpr (std::is_invocable_v<Function&, std::stop_token>)
      return what(given);
    else
      return static_cast<void>(given), what();
  };
  using Returned = std::decay_t<decltype(call(function, token))>;
  using Result = typename detail::FutureValue<Returned>::type;
  Promise<Result> promise(&runtime.scheduler());
  Future<Result> future = promise.future();
  auto record = std::make_shared<detail::Stoppable<Result>>(std::move(promise));
  record->watch(token);
  detail::schedule_call(runtime.scheduler(), [record = std::move(record), token = std::move(token), call,
                                              function = std::move(function)]() mutable noexcept {
    if (!record->decide()) return;
    record->callback.reset();
    detail::settle(std::move(record->promise), [&]() -> Returned { return call(function, token); });
  });
  return future;
}

/// As Runtime::async(). After a request to stop nothing is sent, and the future ends with Cancelled at once;
/// what has been sent runs on its rank, and its answer is dropped.
template <class A, class... Arguments>
Future<detail::ResultOf<A>> async(Runtime& runtime, const std::stop_token& token, int rank, A action,
                                  Arguments&&... arguments) {
  if (token.stop_requested()) return make_failed<detail::ResultOf<A>>(std::make_exception_ptr(Cancelled()));
  return stoppable(runtime.async(rank, action, std::forward<Arguments>(arguments)...), token);
}

}  // namespace weft::parcel
