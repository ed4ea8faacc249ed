// Coroutines that return a Future. Included by future.hpp.
#pragma once

#include <weft/parcel/future.hpp>

#include <coroutine>

namespace weft::parcel {

namespace detail {

template <class T>
struct CoroutineBase {
  Promise<T> promise;
  std::exception_ptr error;
  Future<T> get_return_object() { return promise.future(); }
  std::suspend_never initial_suspend() noexcept { return {}; }
  std::suspend_never final_suspend() noexcept {
    if (error) promise.set_exception(std::move(error));
    return {};
  }
  void unhandled_exception() noexcept { error = std::current_exception(); }
};

template <class T>
struct CoroutinePromise : CoroutineBase<T> {
  template <class Value>
  void return_value(Value&& value) {
    this->promise.set(std::forward<Value>(value));
  }
};
template <>
struct CoroutinePromise<void> : CoroutineBase<void> {
  void return_void() { promise.set(); }
};

}  // namespace detail

template <class T>
struct Future<T>::promise_type : detail::CoroutinePromise<T> {};

}  // namespace weft::parcel
