// Operations in which all ranks of a team take part: barriers, broadcasts, reductions, exchanges of blocks.
#pragma once

#include <weft/collective/arguments.hpp>
#include <weft/collective/blocks.hpp>
#include <weft/collective/call.hpp>
#include <weft/collective/operation.hpp>
#include <weft/collective/operators.hpp>
#include <weft/collective/port.hpp>
#include <weft/collective/reductions.hpp>
#include <weft/collective/team.hpp>
#include <weft/runtime.hpp>
#include <weft/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>

namespace weft {

class Collective;
class MatchingContext;
class StreamGroup;

namespace collective {
class CollectiveContext;
class CollectiveRun;
/// For tests.
[[nodiscard]] CollectiveContext& context_of(Collective& of) noexcept;
}  // namespace collective

namespace stream {
class EnqueueProxy;
}

/// The keys of matching contexts (MatchingContextOptions::key) from here on are those of Collectives.
inline constexpr std::uint32_t kCollectiveKey = 0x7e000000;
/// Keys of Collectives are below this.
inline constexpr std::uint32_t kCollectiveKeys = 0x1000000;

/// Options of a Collective.
struct CollectiveOptions {
  /// Keeps the messages of Collectives apart, by a matching context: the same on every member, and different
  /// for each of the Collectives that a rank has. Below kCollectiveKeys. Any number of Collectives may live
  /// at a time.
  CheckedIndex<std::uint32_t, IndexOf::context_key> key = 255;
  static constexpr std::uint32_t kByKey = ~std::uint32_t{0};
  /// Id under which the Collective exposes an object of its own (Runtime::expose), 0 to 65535; the same on
  /// every member, and different for every Collective and exposed object of the program. By default
  /// collective_ids + key for keys of 1 to 255 of teams of all ranks. Others expose nothing: their barriers
  /// and allreduces whose callers wait go by matched messages as well, which takes a little longer.
  CheckedIndex<std::uint32_t, IndexOf::exposed> handle = kByKey;
  /// The longest time that a call may wait, the same on every rank; 0: any. When it has passed on one rank,
  /// the call ends as timed_out on every rank that waits in it, and so do later calls: the Collective is then
  /// of no more use.
  Timeout timeout{};
};

/// The base of the ids that Collectives choose by default for the objects that they expose: programs that
/// leave CollectiveOptions::handle at its default expose nothing of their own under the ids collective_ids +
/// 1 to collective_ids + 255.
inline constexpr std::uint32_t collective_ids = 65279;

/// Options of Collective::post().
struct CollectivePostOptions {
  /// Signalled at the end with Operation::graph and the collective's outcome: ok, peer_failed, timed_out,
  /// truncated when ranks have other lengths, or cancelled when they have called different collectives; the
  /// next call on this rank tells which. Null: see Collective::wait_posted().
  Completion* completion = nullptr;
  void* user_data = nullptr;
};

/// The collectives of a team, by default of all ranks of the job, over one endpoint. All members have one
/// with the same key, over the device of the same index, and call the same collectives on it in the
/// same order with the same lengths; its messages never match messages of the program, nor of another
/// Collective. Ranks in its calls are those of the team. All ranks must use the same form of a call: the one
/// that waits, or make_... One thread at a time uses a Collective; not handlers.
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
/// The calls that wait return Outcome::ok, peer_failed or timed_out: once any member of the team has failed,
/// collectives that have not ended on this rank end as peer_failed, and so do later calls. All calls throw
/// weft::Error for a root that is no rank, for lengths that differ, and for buffers that overlap in part.
///
/// Ranks that wait for long compare what they have called. Where ranks have called different collectives at
/// the same place of their order (another operation, root, length, or operator of the library), those that
/// wait throw weft::Error, which names what two of the ranks have called and at which lines; results that
/// were handed over before that are not to be relied on.
class WEFT_API Collective : public CollectiveReductions<Collective>, public CollectiveBlocks<Collective> {
 public:
  /// The endpoint must outlive the Collective: its destructor names the Collective otherwise, and aborts.
  /// Construction is not collective. Throws weft::Error when the key or the id of the object is out of
  /// range or in use.
  template <class EndpointType>
  Collective(Runtime& runtime, EndpointType& endpoint, const CollectiveOptions& options = {})
      : Collective(runtime, endpoint, Team::world(runtime), options) {}
  /// Throws weft::Error as well when this rank is no member of the team.
  template <class EndpointType>
  Collective(Runtime& runtime, EndpointType& endpoint, const Team& team,
             const CollectiveOptions& options = {})
      : Collective(runtime, std::make_unique<detail::CollectivePortOf<EndpointType>>(endpoint), team,
                   static_cast<std::uint8_t>(endpoint.attributes().index), options) {}
  /// No operation may be under way.
  ~Collective();
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;
  [[nodiscard]] const Team& team() const noexcept;

  /// Collective: makes teams of the ranks that give the same `colour`, in the order of their keys, and of
  /// their ranks where keys are equal. `part` becomes that of this rank; a team of nobody for a colour below
  /// 0.
  Outcome split(int colour, int key, Team& part,
                const std::source_location& where = std::source_location::current());

  /// Any collective, by arguments that are known at run time only.
  Outcome run(const CollectiveArguments& arguments,
              const std::source_location& where = std::source_location::current()) {
    return run(detail::call_of(arguments), where);
  }
  [[nodiscard]] CollectiveOperation make(const CollectiveArguments& arguments) {
    return make(detail::call_of(arguments));
  }

  /// Returns when every rank has called barrier().
  Outcome barrier(const std::source_location& where = std::source_location::current()) {
    return run(detail::CollectiveCall{}, where);
  }
  [[nodiscard]] CollectiveOperation make_barrier() { return make(detail::CollectiveCall{}); }

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
  friend collective::CollectiveContext& collective::context_of(Collective& of) noexcept;
  Collective(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, const Team& team,
             std::uint8_t device, const CollectiveOptions& options);
  Collective(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, const Team& team,
             std::uint8_t device, MatchingContext&& context);
  Outcome run(const detail::CollectiveCall& call, const std::source_location& where = {});
  Outcome run_checked(const detail::CollectiveCall& call);
  Outcome run_long(const detail::CollectiveCall& call);
  [[nodiscard]] CollectiveOperation make(const detail::CollectiveCall& call);
  std::unique_ptr<collective::CollectiveContext> context_;
};

}  // namespace weft
