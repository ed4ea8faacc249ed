// Operations in which all ranks of a job take part: barriers, broadcasts, reductions, exchanges of blocks.
#pragma once

#include <weft/collective/call.hpp>
#include <weft/collective/operators.hpp>
#include <weft/collective/port.hpp>
#include <weft/completion/graph.hpp>
#include <weft/runtime.hpp>
#include <weft/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>

namespace weft {

class Collective;
class StreamGroup;

namespace collective {
class CollectiveContext;
class CollectiveRun;
}  // namespace collective

namespace stream {
class EnqueueProxy;
}

namespace detail {

/// Where the messages of a Collective are apart from others that share its engine.
struct CollectivePlace {
  std::uint16_t engine = 0;   // open already
  std::uint32_t handle = 0;   // the id of its object
  std::uint32_t context = 0;  // below 4096, in the tags of its messages
};

}  // namespace detail

/// Options of a Collective.
struct CollectiveOptions {
  /// Id of the matching engine that the Collective opens for its own messages, 1 to 255; the same on every
  /// rank, and different for every Collective and engine of the program.
  EngineId engine = 255;
  static constexpr std::uint32_t kByEngine = ~std::uint32_t{0};
  /// Id under which the Collective exposes an object of its own (Runtime::expose), 0 to 65535; the same on
  /// every rank, and different for every Collective and exposed object of the program. By default
  /// collective_ids + engine.
  CheckedIndex<std::uint32_t, IndexOf::exposed> handle = kByEngine;
};

/// The base of the ids that Collectives choose by default for the objects that they expose: programs that
/// leave CollectiveOptions::handle at its default expose nothing of their own under the ids collective_ids +
/// 1 to collective_ids + 255.
inline constexpr std::uint32_t collective_ids = 65279;

/// A collective that has been laid out once, as a graph, and may be started any number of times, without
/// allocation. The buffers that it was made with are borrowed from start() to the end of the run. Its
/// Collective must outlive it, and names it otherwise.
class WEFT_API CollectiveOperation {
 public:
  CollectiveOperation(CollectiveOperation&&) noexcept;
  /// The operation must have ended.
  ~CollectiveOperation();

  /// Begins a run; all ranks must start the operations of a Collective in the same order. Never blocks.
  /// Throws weft::Error while a run is under way. `where`: what explanations and errors name.
  void start(const std::source_location& where = std::source_location::current());
  /// Posts again the operations that had been refused. Returns true when the run has ended. Does not
  /// progress.
  bool test() noexcept;
  /// Progresses until the run has ended. Returns its outcome: ok, or peer_failed. Throws weft::Error when a
  /// rank has sent another length than this one expects (a rank that receives nothing from the rank with the
  /// other length does not notice), and when the run does not end because a rank has begun another collective
  /// in its place; the operation is then to be destroyed.
  Outcome wait();
  /// The graph of the operation, which may be waited for, given a completion object, or made a node of
  /// another graph. A run is begun by start() of this object, or by a graph that has it as a node.
  [[nodiscard]] Graph& graph() noexcept;

 private:
  friend class Collective;
  explicit CollectiveOperation(std::unique_ptr<collective::CollectiveRun> run) noexcept;
  std::unique_ptr<collective::CollectiveRun> run_;
};

/// Options of Collective::post().
struct CollectivePostOptions {
  /// Signalled at the end with Operation::graph and the collective's outcome: ok, peer_failed, or truncated
  /// when a rank has sent another length. Null: see Collective::wait_posted().
  Completion* completion = nullptr;
  void* user_data = nullptr;
};

/// The collectives of a job over one endpoint. All ranks have one with the same engine id, over the device of
/// the same index, and call the same collectives on it in the same order with the same lengths; its messages
/// never match messages of the program, nor of another Collective. All ranks must use the same form of a
/// call: the one that waits, or make_... One thread at a time uses a Collective; not handlers.
///
/// Elements are trivially copyable and aligned to at most 16 bytes; operators are associative, commutative
/// and the same on all ranks (those of operators: Sum, Product, Min, Max, BitAnd, BitOr, BitXor; or a
/// function object of your own). Buffers are contiguous ranges, or variables, which count as ranges of one
/// element; those of a reduction have the same length, and are the same or do not overlap. Algorithms:
/// barrier by dissemination, broadcast and reduce along binomial trees, allreduce by recursive doubling up to
/// 32 KiB and by a ring (reduce-scatter, then allgather) beyond; long ones in segments or pieces that
/// overlap. An operator of a long allreduce whose caller waits may be called by any thread that progresses
/// the device.
///
/// The calls that wait return Outcome::ok or peer_failed: once any rank of the job has failed, collectives
/// that have not ended on this rank end as peer_failed, and so do later calls. All calls throw weft::Error
/// for a root that is no rank, for lengths that differ, and for buffers that overlap in part.
///
/// Ranks that wait for long compare what they have called. Where ranks have called different collectives at
/// the same place of their order (another operation, root, length, or operator of the library), those that
/// wait throw weft::Error, which names what two of the ranks have called and at which lines; results that
/// were handed over before that are not to be relied on.
class WEFT_API Collective {
 public:
  /// The endpoint must outlive the Collective: its destructor names the Collective otherwise, and aborts.
  /// Construction is not collective. Throws weft::Error when the id of the engine or of the object is out of
  /// range (the engine's: 1 to 255) or in use.
  template <class EndpointType>
  Collective(Runtime& runtime, EndpointType& endpoint, const CollectiveOptions& options = {})
      : Collective(runtime, std::make_unique<detail::CollectivePortOf<EndpointType>>(endpoint),
                   static_cast<std::uint8_t>(endpoint.attributes().index), options) {}
  /// No operation may be under way.
  ~Collective();
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;

  /// Returns when every rank has called barrier().
  Outcome barrier(const std::source_location& where = std::source_location::current()) {
    return run({}, where);
  }
  [[nodiscard]] CollectiveOperation make_barrier() { return make({}); }

  /// Copies `values` of rank `root` to the other ranks.
  template <class Values>
  Outcome broadcast(Values&& values, int root,
                    const std::source_location& where = std::source_location::current()) {
    return run(detail::call_of(detail::CollectiveKind::broadcast, detail::elements_of(values),
                               detail::elements_of(values), root),
               where);
  }
  template <class Values>
  [[nodiscard]] CollectiveOperation make_broadcast(Values&& values, int root) {
    detail::check_lasts<Values>();
    return make(detail::call_of(detail::CollectiveKind::broadcast, detail::elements_of(values),
                                detail::elements_of(values), root));
  }

  /// Reduces from[i] of all ranks by `op` into to[i] on rank `root`. On other ranks `to` is ignored and may
  /// be empty. With an AnyReduction, whose element type is known at run time only, the buffers are contiguous
  /// ranges of any type, of the same length in bytes.
  template <class From, class To, class Op>
  Outcome reduce(const From& from, To&& to, const Op& op, int root,
                 const std::source_location& where = std::source_location::current()) {
    return run(detail::reduce_call(detail::CollectiveKind::reduce, detail::elements_of(from),
                                   detail::elements_of(to), op, root),
               where);
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_reduce(From&& from, To&& to, const Op& op, int root) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(detail::reduce_call(detail::CollectiveKind::reduce, detail::elements_of(from),
                                    detail::elements_of(to), op, root));
  }

  /// Reduces from[i] of all ranks by `op` into to[i] on every rank; all ranks get the same bits. Arguments
  /// are those of reduce().
  template <class From, class To, class Op>
  Outcome allreduce(const From& from, To&& to, const Op& op,
                    const std::source_location& where = std::source_location::current()) {
    return run(detail::reduce_call(detail::CollectiveKind::allreduce, detail::elements_of(from),
                                   detail::elements_of(to), op),
               where);
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_allreduce(From&& from, To&& to, const Op& op) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(detail::reduce_call(detail::CollectiveKind::allreduce, detail::elements_of(from),
                                    detail::elements_of(to), op));
  }

  /// Reduces from[i] of the ranks up to this one by `op` into to[i]. Elements are combined in the order of
  /// ranks: `op` need not be commutative.
  template <class From, class To, class Op>
  Outcome inclusive_scan(const From& from, To&& to, const Op& op,
                         const std::source_location& where = std::source_location::current()) {
    return run(detail::reduce_call(detail::CollectiveKind::inclusive_scan, detail::elements_of(from),
                                   detail::elements_of(to), op),
               where);
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_inclusive_scan(From&& from, To&& to, const Op& op) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(detail::reduce_call(detail::CollectiveKind::inclusive_scan, detail::elements_of(from),
                                    detail::elements_of(to), op));
  }
  /// inclusive_scan() of the ranks before this one. On rank 0 `to` stays as it is.
  template <class From, class To, class Op>
  Outcome exclusive_scan(const From& from, To&& to, const Op& op,
                         const std::source_location& where = std::source_location::current()) {
    return run(detail::reduce_call(detail::CollectiveKind::exclusive_scan, detail::elements_of(from),
                                   detail::elements_of(to), op),
               where);
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_exclusive_scan(From&& from, To&& to, const Op& op) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(detail::reduce_call(detail::CollectiveKind::exclusive_scan, detail::elements_of(from),
                                    detail::elements_of(to), op));
  }

  // Buffers that consist of a block for each rank, one after another in the order of ranks. Without counts
  // all blocks have the same number of elements. With counts (of elements, one for each rank) they differ;
  // then all ranks use that form of the call, and counts which concern other ranks only are ignored and may
  // be empty.

  /// Rank `root` gets `from` of every rank in `to`, which is ignored on other ranks. Its own block may lie in
  /// `to` already.
  template <class From, class To>
  Outcome gather(const From& from, To&& to, int root,
                 const std::source_location& where = std::source_location::current()) {
    return run(detail::call_of(detail::CollectiveKind::gather, detail::elements_of(from),
                               detail::elements_of(to), root),
               where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_gather(From&& from, To&& to, int root) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(detail::call_of(detail::CollectiveKind::gather, detail::elements_of(from),
                                detail::elements_of(to), root));
  }
  template <class From, class To>
  Outcome gather(const From& from, To&& to, std::span<const std::size_t> counts, int root,
                 const std::source_location& where = std::source_location::current()) {
    return run(with_counts(detail::call_of(detail::CollectiveKind::gather, detail::elements_of(from),
                                           detail::elements_of(to), root),
                           {}, counts),
               where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_gather(From&& from, To&& to, std::span<const std::size_t> counts,
                                                int root) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(with_counts(detail::call_of(detail::CollectiveKind::gather, detail::elements_of(from),
                                            detail::elements_of(to), root),
                            {}, counts));
  }

  /// Every rank gets in `to` its block of `from` of rank `root`; on other ranks `from` is ignored. The root's
  /// `to` may be its block of `from`.
  template <class From, class To>
  Outcome scatter(const From& from, To&& to, int root,
                  const std::source_location& where = std::source_location::current()) {
    return run(detail::call_of(detail::CollectiveKind::scatter, detail::elements_of(from),
                               detail::elements_of(to), root),
               where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_scatter(From&& from, To&& to, int root) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(detail::call_of(detail::CollectiveKind::scatter, detail::elements_of(from),
                                detail::elements_of(to), root));
  }
  template <class From, class To>
  Outcome scatter(const From& from, std::span<const std::size_t> counts, To&& to, int root,
                  const std::source_location& where = std::source_location::current()) {
    return run(with_counts(detail::call_of(detail::CollectiveKind::scatter, detail::elements_of(from),
                                           detail::elements_of(to), root),
                           counts, {}),
               where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_scatter(From&& from, std::span<const std::size_t> counts, To&& to,
                                                 int root) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(with_counts(detail::call_of(detail::CollectiveKind::scatter, detail::elements_of(from),
                                            detail::elements_of(to), root),
                            counts, {}));
  }

  /// Every rank gets `from` of every rank in `to`. The own block may lie in `to` already.
  template <class From, class To>
  Outcome allgather(const From& from, To&& to,
                    const std::source_location& where = std::source_location::current()) {
    return run(detail::call_of(detail::CollectiveKind::allgather, detail::elements_of(from),
                               detail::elements_of(to)),
               where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_allgather(From&& from, To&& to) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(detail::call_of(detail::CollectiveKind::allgather, detail::elements_of(from),
                                detail::elements_of(to)));
  }
  template <class From, class To>
  Outcome allgather(const From& from, To&& to, std::span<const std::size_t> counts,
                    const std::source_location& where = std::source_location::current()) {
    return run(with_counts(detail::call_of(detail::CollectiveKind::allgather, detail::elements_of(from),
                                           detail::elements_of(to)),
                           {}, counts),
               where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_allgather(From&& from, To&& to,
                                                   std::span<const std::size_t> counts) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(with_counts(detail::call_of(detail::CollectiveKind::allgather, detail::elements_of(from),
                                            detail::elements_of(to)),
                            {}, counts));
  }

  /// Every rank sends its block i of `from` to rank i, where it becomes the block of this rank in `to`. Both
  /// may be the same buffer: with counts, where these are the same for both.
  template <class From, class To>
  Outcome alltoall(const From& from, To&& to,
                   const std::source_location& where = std::source_location::current()) {
    return run(
        detail::call_of(detail::CollectiveKind::alltoall, detail::elements_of(from), detail::elements_of(to)),
        where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_alltoall(From&& from, To&& to) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(detail::call_of(detail::CollectiveKind::alltoall, detail::elements_of(from),
                                detail::elements_of(to)));
  }
  template <class From, class To>
  Outcome alltoall(const From& from, std::span<const std::size_t> from_counts, To&& to,
                   std::span<const std::size_t> to_counts,
                   const std::source_location& where = std::source_location::current()) {
    return run(with_counts(detail::call_of(detail::CollectiveKind::alltoall, detail::elements_of(from),
                                           detail::elements_of(to)),
                           from_counts, to_counts),
               where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_alltoall(From&& from, std::span<const std::size_t> from_counts,
                                                  To&& to, std::span<const std::size_t> to_counts) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(with_counts(
        detail::call_of(detail::CollectiveKind::alltoall, detail::elements_of(from), detail::elements_of(to)),
        from_counts, to_counts));
  }

  /// Reduces `from` of all ranks by `op`; every rank gets its block of the result in `to`, which may begin
  /// where `from` does, or be the own block of it. All ranks know all counts.
  template <class From, class To, class Op>
  Outcome reduce_scatter(const From& from, To&& to, const Op& op,
                         const std::source_location& where = std::source_location::current()) {
    return run(detail::reduce_call(detail::CollectiveKind::reduce_scatter, detail::elements_of(from),
                                   detail::elements_of(to), op),
               where);
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_reduce_scatter(From&& from, To&& to, const Op& op) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(detail::reduce_call(detail::CollectiveKind::reduce_scatter, detail::elements_of(from),
                                    detail::elements_of(to), op));
  }
  template <class From, class To, class Op>
  Outcome reduce_scatter(const From& from, To&& to, std::span<const std::size_t> counts, const Op& op,
                         const std::source_location& where = std::source_location::current()) {
    return run(with_counts(detail::reduce_call(detail::CollectiveKind::reduce_scatter,
                                               detail::elements_of(from), detail::elements_of(to), op),
                           counts, {}),
               where);
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_reduce_scatter(From&& from, To&& to,
                                                        std::span<const std::size_t> counts, const Op& op) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(with_counts(detail::reduce_call(detail::CollectiveKind::reduce_scatter,
                                                detail::elements_of(from), detail::elements_of(to), op),
                            counts, {}));
  }

  /// Sends `from` to every rank of `destinations`, and gets a block from each of `sources` in `to`, in the
  /// order of the list. A rank that names another one as destination is named by it as source, as often;
  /// messages between two ranks that name each other several times keep the order of the lists.
  template <class From, class To>
  Outcome neighbor_allgather(const From& from, To&& to, std::span<const int> sources,
                             std::span<const int> destinations,
                             const std::source_location& where = std::source_location::current()) {
    return run(with_neighbors(detail::call_of(detail::CollectiveKind::neighbor_allgather,
                                              detail::elements_of(from), detail::elements_of(to)),
                              sources, destinations),
               where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_neighbor_allgather(From&& from, To&& to,
                                                            std::span<const int> sources,
                                                            std::span<const int> destinations) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(with_neighbors(detail::call_of(detail::CollectiveKind::neighbor_allgather,
                                               detail::elements_of(from), detail::elements_of(to)),
                               sources, destinations));
  }
  /// neighbor_allgather() with a block of `from` for each of `destinations`.
  template <class From, class To>
  Outcome neighbor_alltoall(const From& from, To&& to, std::span<const int> sources,
                            std::span<const int> destinations,
                            const std::source_location& where = std::source_location::current()) {
    return run(with_neighbors(detail::call_of(detail::CollectiveKind::neighbor_alltoall,
                                              detail::elements_of(from), detail::elements_of(to)),
                              sources, destinations),
               where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_neighbor_alltoall(From&& from, To&& to, std::span<const int> sources,
                                                           std::span<const int> destinations) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(with_neighbors(detail::call_of(detail::CollectiveKind::neighbor_alltoall,
                                               detail::elements_of(from), detail::elements_of(to)),
                               sources, destinations));
  }
  template <class From, class To>
  Outcome neighbor_alltoall(const From& from, std::span<const std::size_t> from_counts, To&& to,
                            std::span<const std::size_t> to_counts, std::span<const int> sources,
                            std::span<const int> destinations,
                            const std::source_location& where = std::source_location::current()) {
    return run(with_neighbors(with_counts(detail::call_of(detail::CollectiveKind::neighbor_alltoall,
                                                          detail::elements_of(from), detail::elements_of(to)),
                                          from_counts, to_counts),
                              sources, destinations),
               where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_neighbor_alltoall(From&& from,
                                                           std::span<const std::size_t> from_counts, To&& to,
                                                           std::span<const std::size_t> to_counts,
                                                           std::span<const int> sources,
                                                           std::span<const int> destinations) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return make(
        with_neighbors(with_counts(detail::call_of(detail::CollectiveKind::neighbor_alltoall,
                                                   detail::elements_of(from), detail::elements_of(to)),
                                   from_counts, to_counts),
                       sources, destinations));
  }

  /// Begins an operation that a make_... has returned, and keeps it until it has ended: any number may be
  /// under way, and any thread that progresses the device carries them on. Never blocks. All ranks post and
  /// start the operations of a Collective in the same order; which thread of a rank does, does not matter.
  /// Throws weft::Error while the operation runs already.
  ///
  ///     all.post(all.make_allreduce(values, sums, weft::operators::Sum{}), {.completion = &done});
  void post(CollectiveOperation&& operation, const CollectivePostOptions& options = {},
            const std::source_location& where = std::source_location::current());
  /// Progresses until all operations that were posted before have ended. Returns ok, or the outcome of one
  /// that has not ended so. Throws weft::Error as CollectiveOperation::wait() does.
  Outcome wait_posted();

 private:
  friend class StreamGroup;
  friend class stream::EnqueueProxy;
  Collective(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, std::uint8_t device,
             const CollectiveOptions& options);
  Collective(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, std::uint8_t device,
             const detail::CollectivePlace& place);
  Outcome run(const detail::CollectiveCall& call, const std::source_location& where = {});
  Outcome run_long(const detail::CollectiveCall& call);
  [[nodiscard]] CollectiveOperation make(const detail::CollectiveCall& call);
  static detail::CollectiveCall with_counts(detail::CollectiveCall call,
                                            std::span<const std::size_t> from_counts,
                                            std::span<const std::size_t> to_counts) noexcept {
    call.from_counts = from_counts;
    call.to_counts = to_counts;
    call.blocks_differ = true;
    return call;
  }
  static detail::CollectiveCall with_neighbors(detail::CollectiveCall call, std::span<const int> sources,
                                               std::span<const int> destinations) noexcept {
    call.sources = sources;
    call.destinations = destinations;
    return call;
  }

  std::unique_ptr<collective::CollectiveContext> context_;
};

}  // namespace weft
