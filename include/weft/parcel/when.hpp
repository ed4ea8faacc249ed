// Futures of several futures: all of them, any of them, each as it comes.
#pragma once

#include <weft/parcel/future.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::parcel {

namespace detail {

/// Tells `record->one_is_ready(index)` when the future is ready.
template <class Record, class T>
void tell(const std::shared_ptr<Record>& record, Future<T>& future, std::size_t index) {
  future.state().when_ready(continuation([record, index]() noexcept { record->one_is_ready(index); }));
}

}  // namespace detail

/// A future of all values, in the order of `futures`. The first exception, in that order, ends it, once all
/// are ready. For futures of void it is a Future<void>.
template <class T>
auto when_all(std::vector<Future<T>> futures) {
  using Result = std::conditional_t<std::is_void_v<T>, void, std::vector<detail::NotVoid<T>>>;
  struct Gathering {
    explicit Gathering(std::vector<Future<T>> those) : futures(std::move(those)) {}
    std::vector<Future<T>> futures;
    Promise<Result> promise;
    std::atomic<std::size_t> missing{futures.size() + 1};
    void one_is_ready(std::size_t) noexcept {
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
  for (const auto& future : futures) static_cast<void>(future.ready());  // each has one to give
  auto gathering = std::make_shared<Gathering>(std::move(futures));
  Future<Result> result = gathering->promise.future();
  for (auto& future : gathering->futures) detail::tell(gathering, future, 0);
  gathering->one_is_ready(0);
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
    void one_is_ready(std::size_t) noexcept {
      if (missing.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      detail::fulfil(promise, [&] {
        return std::apply([](auto&... each) { return std::tuple<Ts...>{each.get()...}; }, futures);
      });
    }
  };
  (static_cast<void>(futures.ready()), ...);
  auto gathering = std::make_shared<Gathering>();
  gathering->futures = {std::move(futures)...};
  auto result = gathering->promise.future();
  std::apply([&](auto&... each) { (detail::tell(gathering, each, 0), ...); }, gathering->futures);
  gathering->one_is_ready(0);
  return result;
}

/// What when_any() gives: every future back, and which of them was ready first.
template <class Futures>
struct AnyOf {
  std::size_t index = 0;
  Futures futures;
};

namespace detail {

template <class Futures>
struct FirstOf {
  Futures futures;
  Promise<AnyOf<Futures>> promise;
  std::atomic<bool> is_over{false};
  std::atomic<bool> is_set_up{false};
  std::size_t first = 0;

  /// The futures are given back once all of them have been looked at.
  void one_is_ready(std::size_t index) noexcept {
    if (is_over.exchange(true, std::memory_order_acq_rel)) return;
    first = index;
    give();
  }
  void give() noexcept {
    if (!is_set_up.exchange(true, std::memory_order_acq_rel)) return;
    fulfil(promise, [&] { return AnyOf<Futures>{first, std::move(futures)}; });
  }
};

}  // namespace detail

/// A future of the first of them that is ready, by value or exception, and of all futures, which go on and
/// may be waited for. In a loop over what is left use when_each(). At least one; weft::Error otherwise.
template <class T>
Future<AnyOf<std::vector<Future<T>>>> when_any(std::vector<Future<T>> futures) {
  if (futures.empty()) throw Error("when_any() was given no future: the first of none never comes");
  for (const auto& future : futures) static_cast<void>(future.ready());
  auto record = std::make_shared<detail::FirstOf<std::vector<Future<T>>>>();
  record->futures = std::move(futures);
  auto result = record->promise.future();
  for (std::size_t index = 0; index < record->futures.size(); ++index)
    detail::tell(record, record->futures[index], index);
  record->give();
  return result;
}
/// Likewise of futures of several types: a tuple of them.
template <class... Ts>
requires(sizeof...(Ts) > 0) Future<AnyOf<std::tuple<Future<Ts>...>>> when_any(Future<Ts>... futures) {
  (static_cast<void>(futures.ready()), ...);
  auto record = std::make_shared<detail::FirstOf<std::tuple<Future<Ts>...>>>();
  record->futures = {std::move(futures)...};
  auto result = record->promise.future();
  std::size_t index = 0;
  std::apply([&](auto&... each) { (detail::tell(record, each, index++), ...); }, record->futures);
  record->give();
  return result;
}

/// Calls `function(index, future)`, or `function(future)`, with each future once it is ready, in the order in
/// which they become so, one call at a time, as tasks. The future that is returned ends after the last call,
/// with the first exception that a call has thrown; the others are called nevertheless.
template <class T, class Function>
Future<void> when_each(std::vector<Future<T>> futures, Function function) {
  struct Calls {
    Calls(std::vector<Future<T>> those, Function what)
        : futures(std::move(those)), function(std::move(what)), left(futures.size()) {}
    std::vector<Future<T>> futures;
    Function function;
    Promise<void> promise;
    std::size_t left;
    std::exception_ptr error;
    std::mutex mutex;
    std::vector<std::size_t> ready;  // for whoever calls
    bool is_calling = false;

    void one_is_ready(std::size_t index) noexcept {
      std::unique_lock lock(mutex);
      ready.push_back(index);
      if (std::exchange(is_calling, true)) return;
      while (!ready.empty()) {
        const std::vector<std::size_t> now = std::exchange(ready, {});
        lock.unlock();
        for (const std::size_t each : now) call(each);
        left -= now.size();
        lock.lock();
      }
      is_calling = false;
      const bool is_last = left == 0;
      lock.unlock();
      if (!is_last) return;
      detail::PromiseAccess::state(promise).put();
      detail::PromiseAccess::finish(promise, error);
    }
    void call(std::size_t index) noexcept {
      std::exception_ptr thrown;
      try {
        if constexpr (std::is_invocable_v<Function&, std::size_t, Future<T>>)
          function(index, std::move(futures[index]));
        else
          function(std::move(futures[index]));
      } catch (...) {
        thrown = std::current_exception();
      }
      if (thrown && !error) error = std::move(thrown);
    }
  };
  if (futures.empty()) return make_ready();
  for (const auto& future : futures) static_cast<void>(future.ready());
  auto calls = std::make_shared<Calls>(std::move(futures), std::move(function));
  Future<void> result = calls->promise.future();
  for (std::size_t index = 0; index < calls->futures.size(); ++index)
    detail::tell(calls, calls->futures[index], index);
  return result;
}

}  // namespace weft::parcel
