// Collectives of tasks: barrier, broadcast, reduce, allreduce, gather, as futures.
#pragma once

#include <weft/parcel/detail/collective.hpp>
#include <weft/parcel/runtime.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::parcel {

struct CollectiveOptions {
  /// Calls with the same tag belong together, in their order; without one, all calls without a tag do. Tasks
  /// of one rank that call at the same time each need a tag, as their order is left to chance. Tags of a
  /// group are kept for as long as the runtime lives: few of them, used again and again.
  std::string_view tag{};
};

/// Ranks that have collectives together. Every member calls the same collectives in the same order (or with
/// the same tag) and gets a future; any number may be under way. No call waits: values travel along a
/// binomial tree as parcels.
///
/// Futures end with PeerFailed when a member fails, and with CollectiveError, on all members, when their
/// calls differ: another operation, root, or type. Not collective to make: groups of the same ranks and name
/// are one group, which each member may make as often as it likes. Copies are cheap. Any thread.
///
/// After MPI-4's communicators and nonblocking collectives (chapter 6.12), and UPC++'s teams.
class Group {
 public:
  /// All ranks of the job.
  explicit Group(Runtime& runtime) : Group(runtime, detail::all_ranks(runtime.core())) {}
  /// These ranks, in an order that all members give alike; the own one is among them. `name` keeps a group
  /// apart from others of the same ranks, a library's for example. weft::Error for ranks that cannot be.
  Group(Runtime& runtime, std::vector<int> ranks, std::string_view name = {})
      : runtime_(&runtime), members_(detail::make_members(runtime.core(), std::move(ranks), name)) {}

  [[nodiscard]] int size() const noexcept { return static_cast<int>(members_->ranks.size()); }
  /// The calling rank's index in ranks().
  [[nodiscard]] int index() const noexcept { return members_->own; }
  [[nodiscard]] const std::vector<int>& ranks() const noexcept { return members_->ranks; }

  /// Ready when every member has called it.
  Future<void> barrier(const CollectiveOptions& options = {}) const {
    Promise<void> promise(&runtime_->scheduler());
    Future<void> future = promise.future();
    start<std::monostate>(
        {detail::CollectiveKind::barrier, 0, 0}, options, std::monostate{},
        [](std::monostate, std::monostate) { return std::monostate{}; },
        detail::give_nothing(std::move(promise)));
    return future;
  }

  /// The value of rank `root`, on every member. The others' values are not used.
  template <class T>
  Future<T> broadcast(int root, T value) const {
    return broadcast_of<T>(root, std::optional<T>(std::move(value)), {});
  }
  template <class T>
  Future<T> broadcast(int root, T value, const CollectiveOptions& options) const {
    return broadcast_of<T>(root, std::optional<T>(std::move(value)), options);
  }
  /// What members other than the root may call: broadcast<T>(root).
  template <class T>
  Future<T> broadcast(int root, const CollectiveOptions& options = {}) const {
    return broadcast_of<T>(root, std::nullopt, options);
  }

  /// The members' values combined by `operation(left, right)` in the order of ranks(); it has to be
  /// associative, not commutative. On rank `root`; nothing elsewhere. `operation` runs in tasks.
  template <class T, class Operation>
  Future<std::optional<T>> reduce(int root, T value, Operation operation,
                                  const CollectiveOptions& options = {}) const {
    Promise<std::optional<T>> promise(&runtime_->scheduler());
    auto future = promise.future();
    start<T>({detail::CollectiveKind::reduce, index_of(root), 0}, options, std::move(value),
             std::move(operation), detail::give_optional<T>(std::move(promise)));
    return future;
  }
  /// As reduce(), on every member.
  template <class T, class Operation>
  Future<T> allreduce(T value, Operation operation, const CollectiveOptions& options = {}) const {
    Promise<T> promise(&runtime_->scheduler());
    Future<T> future = promise.future();
    start<T>({detail::CollectiveKind::allreduce, 0, 0}, options, std::move(value), std::move(operation),
             detail::give_value<T>(std::move(promise)));
    return future;
  }

  /// The members' values in the order of ranks(), on rank `root`; an empty vector elsewhere.
  template <class T>
  Future<std::vector<T>> gather(int root, T value, const CollectiveOptions& options = {}) const {
    return gathered<T>({detail::CollectiveKind::gather, index_of(root), 0}, std::move(value), options);
  }
  /// As gather(), on every member.
  template <class T>
  Future<std::vector<T>> allgather(T value, const CollectiveOptions& options = {}) const {
    return gathered<T>({detail::CollectiveKind::allgather, 0, 0}, std::move(value), options);
  }

 private:
  template <class T, class Operation>
  void start(detail::CollectiveCall call, const CollectiveOptions& options, std::optional<T> value,
             Operation operation, std::function<void(std::optional<T>, std::exception_ptr)> finish) const {
    detail::start_collective<T>(*runtime_, members_, call, options.tag, std::move(value),
                                std::function<T(T, T)>(std::move(operation)), std::move(finish));
  }
  template <class T>
  Future<T> broadcast_of(int root, std::optional<T> value, const CollectiveOptions& options) const {
    const detail::CollectiveCall call{detail::CollectiveKind::broadcast, index_of(root), 0};
    if (call.root != members_->own)
      value.reset();
    else if (!value)
      throw Error("broadcast() was called without a value by its root, rank " + std::to_string(root));
    Promise<T> promise(&runtime_->scheduler());
    Future<T> future = promise.future();
    start<T>(call, options, std::move(value), std::function<T(T, T)>(),
             detail::give_value<T>(std::move(promise)));
    return future;
  }
  template <class T>
  Future<std::vector<T>> gathered(detail::CollectiveCall call, T value,
                                  const CollectiveOptions& options) const {
    Promise<std::vector<T>> promise(&runtime_->scheduler());
    auto future = promise.future();
    std::vector<T> own;
    own.push_back(std::move(value));
    start<std::vector<T>>(
        call, options, std::move(own),
        [](std::vector<T> left, std::vector<T> right) {
          left.insert(left.end(), std::make_move_iterator(right.begin()),
                      std::make_move_iterator(right.end()));
          return left;
        },
        detail::give_value<std::vector<T>>(std::move(promise)));
    return future;
  }
  [[nodiscard]] std::int32_t index_of(int root) const { return detail::index_of(*members_, root); }

  Runtime* runtime_;
  std::shared_ptr<const detail::GroupMembers> members_;
};

}  // namespace weft::parcel
