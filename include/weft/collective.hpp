// Operations in which all ranks of a job take part: barrier, broadcast, reduce, allreduce.
#pragma once

#include <weft/collective/operators.hpp>
#include <weft/collective/port.hpp>
#include <weft/completion/graph.hpp>
#include <weft/runtime.hpp>
#include <weft/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace weft {

class Collective;

namespace detail {

class CollectiveContext;
class CollectiveRun;

enum class CollectiveKind : std::uint8_t { barrier, broadcast, reduce, allreduce };

/// A collective by its parts.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::barrier;
  int root = 0;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::size_t count = 0;     // elements of from
  std::size_t to_count = 0;  // elements
  Reduction reduction{};     // element is always set
};

}  // namespace detail

/// Options of a Collective.
struct CollectiveOptions {
  /// Id of the matching engine that the context opens for its own messages, 1 to 255; the same on every rank,
  /// and another one for every context and engine of the program. The context also exposes an object, under
  /// the id 65279 plus this one.
  std::uint16_t engine = 255;
};

/// A collective that has been laid out once, as a graph, and may be started any number of times, without
/// allocation. The buffers that it was made with are borrowed from start() to the end. Its Collective
/// outlives it.
class WEFT_API CollectiveOperation {
 public:
  CollectiveOperation(CollectiveOperation&&) noexcept;
  /// The operation has ended.
  ~CollectiveOperation();

  /// Begins a run; all ranks start the operations of a context in the same order. Never blocks. Throws
  /// weft::Error while a run is under way.
  void start();
  /// Whether the run has ended, posting again what had been refused. Does not progress.
  bool test() noexcept;
  /// Progresses until the run has ended; its outcome: ok, or peer_failed. Throws weft::Error when a rank has
  /// sent another length than this one expects. (A rank that does not hear from the one with the other length
  /// does not notice.)
  Outcome wait();
  /// The graph that runs: to be waited for, given a completion object, or made a node of another graph. Only
  /// start() of this object begins a run of its own; a graph that it is a node of begins one as well.
  [[nodiscard]] Graph& graph() noexcept;

 private:
  friend class Collective;
  explicit CollectiveOperation(std::unique_ptr<detail::CollectiveRun> run) noexcept;
  std::unique_ptr<detail::CollectiveRun> run_;
};

/// The collectives of a job over one endpoint. All ranks have one with the same engine id, over the device of
/// the same index, and call the same collectives on it in the same order with the same lengths; what they
/// send meets no message of the program, nor of another Collective. What waits on one rank waits
/// on all, and what is made with make_... is so on all. One thread at a time uses it; not handlers.
///
/// Elements are trivially copyable and aligned to at most 16 bytes; operators are associative, commutative
/// and the same on all ranks (Sum, Product, Min, Max, BitAnd, BitOr, BitXor, or a function object of your
/// own). Buffers are contiguous ranges; those of a reduction have the same length, and are the same or do not
/// overlap. Algorithms: barrier by dissemination, broadcast and reduce along binomial trees, allreduce by
/// recursive doubling up to 32 KiB and by a ring (reduce-scatter, then allgather) beyond; long ones in
/// segments or pieces that overlap. An operator of a long allreduce whose caller waits may be called by any
/// thread that progresses the device.
///
/// The calls that wait return Outcome::ok or peer_failed: once any rank of the job has failed, what has not
/// ended on this rank ends as that, and so do later calls. All throw weft::Error for a root that is no rank,
/// for lengths that differ, and for buffers that overlap in part.
class WEFT_API Collective {
 public:
  /// The endpoint outlives it. Not collective. Throws weft::Error when the engine's id is 0, out of range or
  /// in use.
  template <class EndpointType>
  Collective(Runtime& runtime, EndpointType& endpoint, const CollectiveOptions& options = {})
      : Collective(runtime, std::make_unique<detail::CollectivePortOf<EndpointType>>(endpoint),
                   static_cast<std::uint8_t>(endpoint.attributes().index), options) {}
  /// No operation is under way.
  ~Collective();
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;

  /// Returns when every rank has called it.
  Outcome barrier() { return run({}); }
  [[nodiscard]] CollectiveOperation make_barrier() { return make({}); }

  /// Copies `values` of rank `root` to the others.
  template <class Values>
  Outcome broadcast(Values&& values, int root) {
    return run(broadcast_call(std::span{values}, root));
  }
  template <class Values>
  [[nodiscard]] CollectiveOperation make_broadcast(Values&& values, int root) {
    return make(broadcast_call(std::span{values}, root));
  }

  /// to[i] on rank `root` becomes what `op` makes of from[i] of all ranks. Elsewhere `to` is not looked at
  /// and may be empty.
  template <class From, class To, class Op>
  Outcome reduce(const From& from, To&& to, const Op& op, int root) {
    return run(reduce_call(detail::CollectiveKind::reduce, std::span{from}, std::span{to}, op, root));
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_reduce(const From& from, To&& to, const Op& op, int root) {
    return make(reduce_call(detail::CollectiveKind::reduce, std::span{from}, std::span{to}, op, root));
  }

  /// The same on every rank; all get the same bits.
  template <class From, class To, class Op>
  Outcome allreduce(const From& from, To&& to, const Op& op) {
    return run(reduce_call(detail::CollectiveKind::allreduce, std::span{from}, std::span{to}, op, 0));
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_allreduce(const From& from, To&& to, const Op& op) {
    return make(reduce_call(detail::CollectiveKind::allreduce, std::span{from}, std::span{to}, op, 0));
  }

 private:
  Collective(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, std::uint8_t device,
             const CollectiveOptions& options);
  Outcome run(const detail::CollectiveCall& call);
  [[nodiscard]] CollectiveOperation make(const detail::CollectiveCall& call);

  template <class T>
  static void check_element() {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16,
                  "elements are trivially copyable and aligned to at most 16 bytes");
  }
  template <class T, std::size_t Extent>
  static detail::CollectiveCall broadcast_call(std::span<T, Extent> values, int root) {
    check_element<T>();
    detail::CollectiveCall call{.kind = detail::CollectiveKind::broadcast, .root = root};
    call.to = reinterpret_cast<std::byte*>(values.data());
    call.from = call.to;
    call.count = call.to_count = values.size();
    call.reduction.element = sizeof(T);
    return call;
  }
  template <class From, std::size_t FromExtent, class T, std::size_t Extent, class Op>
  static detail::CollectiveCall reduce_call(detail::CollectiveKind kind, std::span<From, FromExtent> from,
                                            std::span<T, Extent> to, const Op& op, int root) {
    check_element<T>();
    static_assert(std::is_same_v<std::remove_const_t<From>, T>, "both buffers have elements of one type");
    return {.kind = kind,
            .root = root,
            .from = reinterpret_cast<const std::byte*>(from.data()),
            .to = reinterpret_cast<std::byte*>(to.data()),
            .count = from.size(),
            .to_count = to.size(),
            .reduction = detail::reduction_of<T>(op)};
  }

  std::unique_ptr<detail::CollectiveContext> context_;
};

}  // namespace weft
