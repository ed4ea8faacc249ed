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

  std::unique_ptr<collective::CollectiveContext> context_;
};

}  // namespace weft
