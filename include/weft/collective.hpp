// Operations in which all ranks of a job take part: barriers, broadcasts, reductions, exchanges of blocks.
#pragma once

#include <weft/collective/blocks.hpp>
#include <weft/collective/call.hpp>
#include <weft/collective/operation.hpp>
#include <weft/collective/operators.hpp>
#include <weft/collective/port.hpp>
#include <weft/collective/reductions.hpp>
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
class WEFT_API Collective : public CollectiveReductions<Collective>, public CollectiveBlocks<Collective> {
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

  /// Begins an operation that a make_... has returned, and keeps it until it has ended: any number may be
  /// under way, and any thread that progresses the device carries them on. Never blocks. All ranks post and
  /// start the operations of a Collective in the same order; which thread of a rank does, does not matter.
  /// Throws weft::Error for an operation that runs already, is empty, or was made by another Collective.
  ///
  ///     all.post(all.make_allreduce(values, sums, weft::operators::Sum{}), {.completion = &done});
  void post(CollectiveOperation&& operation, const CollectivePostOptions& options = {},
            const std::source_location& where = std::source_location::current());
  /// Progresses until all operations that were posted before have ended. Returns ok, or the outcome of the
  /// first that has not ended so; one that has failed earlier counts unless it had a completion object.
  /// Throws weft::Error as CollectiveOperation::wait() does; those behind that one go on, and are waited for
  /// by the next call.
  Outcome wait_posted();

 private:
  friend class CollectiveReductions<Collective>;
  friend class CollectiveBlocks<Collective>;
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
