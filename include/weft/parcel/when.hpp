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

}  // namespace weft::parcel
