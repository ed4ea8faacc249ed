// Loops whose indices are tasks.
#pragma once

#include <weft/parcel/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::parcel {

struct LoopOptions {
  /// Indices that one task takes in a row; 0: as many as give each worker eight tasks. A sum of
  /// floating-point numbers is the same in every run with a grain of the program's own.
  std::size_t grain = 0;
};

namespace detail {

// Of a parallel_reduce(), which keeps one value for each.
inline constexpr std::uint64_t kMostParts = 1 << 16;

[[nodiscard]] constexpr std::uint64_t parts_of(std::uint64_t count, std::uint64_t grain) noexcept {
  return count / grain + (count % grain != 0 ? 1 : 0);
}

/// The parts of a loop, which halve themselves: whoever is idle steals the larger half.
template <class Body>
class Loop : public std::enable_shared_from_this<Loop<Body>> {
 public:
  Loop(Runtime& runtime, std::uint64_t count, std::uint64_t grain, Body body)
      : scheduler_(runtime.scheduler()),
        body_(std::move(body)),
        count_(count),
        grain_(grain),
        left_(parts_of(count, grain)),
        promise_(&scheduler_) {}

  [[nodiscard]] Future<void> begin() {
    Future<void> future = promise_.future();
    spawn(0, left_.load(std::memory_order_relaxed));
    return future;
  }

 private:
  void spawn(std::uint64_t first, std::uint64_t last) {
    schedule_call(scheduler_,
                  [self = this->shared_from_this(), first, last]() noexcept { self->run(first, last); });
  }
  void run(std::uint64_t first, std::uint64_t last) noexcept {
    while (last - first > 1) {
      const std::uint64_t middle = first + (last - first) / 2;
      spawn(middle, last);
      last = middle;
    }
    std::exception_ptr thrown;
    if (!has_failed_.load(std::memory_order_relaxed)) {
      try {
        // The end is not computed as a product, which could be too large.
        const std::uint64_t begin = first * grain_;
        body_(first, begin, begin + std::min(grain_, count_ - begin));
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    if (thrown && !has_failed_.exchange(true, std::memory_order_acq_rel)) error_ = std::move(thrown);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    PromiseAccess::state(promise_).put();
    PromiseAccess::finish(promise_, std::move(error_));
  }

  Scheduler& scheduler_;
  Body body_;
  const std::uint64_t count_;
  const std::uint64_t grain_;
  std::atomic<std::uint64_t> left_;  ///< parts that have not ended
  std::atomic<bool> has_failed_{false};
  std::exception_ptr error_;
  Promise<void> promise_;
};

[[nodiscard]] inline std::uint64_t grain_of(Runtime& runtime, std::uint64_t count, std::size_t wanted) {
  if (wanted != 0) return wanted;
  return std::max<std::uint64_t>(1, count / (std::uint64_t{8} * runtime.workers()));
}

template <class Body>
[[nodiscard]] Future<void> run_loop(Runtime& runtime, std::uint64_t count, std::uint64_t grain, Body body) {
  return std::make_shared<Loop<Body>>(runtime, count, grain, std::move(body))->begin();
}

}  // namespace detail

/// Calls `function(index)` for first <= index < last, or `function(begin, end)` for ranges of them, as tasks
/// of this rank, and returns a future of their end. Calls run at the same time. The first exception ends the
/// loop, whose other tasks do not begin any more, and the future throws it.
///
/// After HPX's for_loop with par(task), and oneTBB's parallel_for with a simple_partitioner.
template <std::integral Index, class Function>
Future<void> parallel_for(Runtime& runtime, Index first, std::type_identity_t<Index> last, Function function,
                          const LoopOptions& options = {}) {
  if (last <= first) return make_ready();
  const auto count = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  return detail::run_loop(
      runtime, count, detail::grain_of(runtime, count, options.grain),
      [first, function = std::move(function)](std::uint64_t, std::uint64_t begin, std::uint64_t end) {
        const auto at = [first](std::uint64_t offset) {
          return static_cast<Index>(static_cast<std::uint64_t>(first) + offset);
        };
        if constexpr (std::is_invocable_v<const Function&, Index, Index>)
          function(at(begin), at(end));
        else
          for (std::uint64_t offset = begin; offset < end; ++offset) function(at(offset));
      });
}

/// combine(...combine(combine(identity, map(first)), map(first + 1))..., map(last - 1)), evaluated by tasks,
/// as parallel_for() is. `combine` has to be associative, not commutative.
///
/// After HPX's transform_reduce and oneTBB's parallel_deterministic_reduce: the order does not depend on who
/// steals what.
template <std::integral Index, class T, class Map, class Combine>
Future<T> parallel_reduce(Runtime& runtime, Index first, std::type_identity_t<Index> last, T identity,
                          Map map, Combine combine, const LoopOptions& options = {}) {
  if (last <= first) return make_ready(std::move(identity));
  const auto count = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  const std::uint64_t grain =
      std::max(detail::grain_of(runtime, count, options.grain), detail::parts_of(count, detail::kMostParts));
  auto parts = std::make_shared<std::vector<std::optional<T>>>(detail::parts_of(count, grain));
  return detail::run_loop(runtime, count, grain,
                          [first, parts, map = std::move(map), combine](
                              std::uint64_t part, std::uint64_t begin, std::uint64_t end) {
                            const auto at = [first](std::uint64_t offset) {
                              return static_cast<Index>(static_cast<std::uint64_t>(first) + offset);
                            };
                            T value = map(at(begin));
                            for (std::uint64_t offset = begin + 1; offset < end; ++offset)
                              value = combine(std::move(value), map(at(offset)));
                            (*parts)[part].emplace(std::move(value));
                          })
      .then([parts, identity = std::move(identity), combine]() mutable {
        T value = std::move(identity);
        for (std::optional<T>& part : *parts) value = combine(std::move(value), std::move(*part));
        return value;
      });
}

}  // namespace weft::parcel
