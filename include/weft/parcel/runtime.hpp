// The parcel runtime: a process's worker threads, and the actions that it calls on other ranks.
#pragma once

#include <weft/error.hpp>
#include <weft/parcel/action.hpp>
#include <weft/parcel/detail/parcel_header.hpp>
#include <weft/parcel/detail/runtime_link.hpp>
#include <weft/parcel/options.hpp>
#include <weft/parcel/parcelport.hpp>

#include <cstdint>
#include <memory>
#include <source_location>
#include <tuple>
#include <utility>

namespace weft {
class InProcessJob;
namespace sim {
class Simulation;
}
}  // namespace weft

namespace weft::parcel {

/// An action has thrown on another rank. what() is "rank 1: " and its what().
class WEFT_API RemoteError : public Error {
 public:
  RemoteError(int rank, const std::string& what);
  [[nodiscard]] int rank() const noexcept { return rank_; }

 private:
  int rank_;
};

/// The rank has failed before it had answered.
class WEFT_API PeerFailed : public Error {
 public:
  explicit PeerFailed(int rank);
  [[nodiscard]] int rank() const noexcept { return rank_; }

 private:
  int rank_;
};

/// A call of a runtime that has ended, or a call that it had not answered when it did.
class WEFT_API RuntimeEnded : public Error {
 public:
  using Error::Error;
};

/// Counts since the runtime started; parcels to oneself are none.
struct ParcelCounters {
  std::uint64_t sent = 0;         ///< parcels
  std::uint64_t received = 0;     ///< parcels that have run
  std::uint64_t messages = 0;     ///< that carried the sent parcels
  std::uint64_t pushed_back = 0;  ///< times that the transport took no more
  std::uint64_t aggregated = 0;   ///< parcels that left together with others
  std::uint64_t tasks = 0;        ///< that have run
  std::uint64_t stolen = 0;       ///< of these, tasks that another worker had made
  std::uint64_t parks = 0;        ///< times that a worker went to sleep
  std::uint64_t malformed = 0;    ///< parcels that could not be read, and messages that were no parcels
  std::uint64_t late = 0;         ///< answers to calls that had ended, by a failure for example
  std::uint64_t lost = 0;         ///< parcels to ranks that have failed
  std::uint64_t waits = 0;        ///< times that a sender waited because of RuntimeOptions::pending_limit
  std::uint64_t pending = 0;      ///< bytes that wait, or whose arrays are under way, now
};

/// A rank of a program that is made of tasks: worker threads with work stealing, and parcels between ranks.
///
/// Every rank constructs it (collective: the actions of all ranks are compared, and weft::Error names those
/// that differ) and destroys it (collective among the living ranks: the destructor serves the others until
/// all have come to theirs, no task is left and no parcel is under way; not in a task). Under `weft run` or
/// any launcher that weft::Runtime knows; a rank of 1 when started alone. Members may be called by any
/// thread.
///
/// Several may be open in a process, one after the other or, with names of their own
/// (RuntimeOptions::name), at a time. Futures, promises, channels and handles of objects may be destroyed
/// before or after their runtime: calls that it has not answered when it ends end with RuntimeEnded, and so
/// does whatever is called afterwards.
class WEFT_API Runtime {
 public:
  explicit Runtime(const RuntimeOptions& options = {});
  /// Rank of an in-process job, or of a simulated one (the loopback parcelport), for tests.
  Runtime(InProcessJob& job, int rank, const RuntimeOptions& options = {});
  Runtime(sim::Simulation& simulation, int rank, const RuntimeOptions& options = {});
  /// Over a parcelport of the program's own; RuntimeOptions::port, devices and progress are not its.
  Runtime(std::unique_ptr<Parcelport> port, const RuntimeOptions& options = {});
  ~Runtime();  // ends the program with one line when it is called by a task of the runtime
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] unsigned workers() const noexcept;
  /// The runtime whose worker the calling thread is; nullptr elsewhere.
  [[nodiscard]] static Runtime* current() noexcept;
  [[nodiscard]] Scheduler& scheduler() noexcept;
  [[nodiscard]] Parcelport& port() noexcept;
  [[nodiscard]] bool has_failed(int rank) const noexcept;
  [[nodiscard]] ParcelCounters counters() const noexcept;
  /// "port=weft,aggregation=adaptive,..." with every option that has an effect.
  [[nodiscard]] std::string description() const;

  /// Calls the action on the rank, 0 to size() - 1 (weft::Error otherwise), and returns the future of its
  /// result. weft::Error, too, when the action's library was loaded after the runtime had started. It never
  /// waits for the rank: what that does not take waits here, up to RuntimeOptions::pending_limit bytes.
  /// Arguments are converted to the action's parameter types, and copied or moved. A call to oneself runs as
  /// a task and serializes nothing. The future ends with RemoteError when the action throws, and with
  /// PeerFailed when the rank fails.
  template <class A, class... Arguments>
  Future<detail::ResultOf<A>> async(int rank, A, Arguments&&... arguments);
  /// async() without an answer. An exception of the action is logged on its rank.
  template <class A, class... Arguments>
  void apply(int rank, A, Arguments&&... arguments);

  /// Runs `function()` as a task of this rank, and returns the future of its result.
  template <class Function>
  auto spawn(Function function, const SpawnOptions& options = {});
  /// spawn(), and waits for the result: how main() enters the runtime.
  template <class Function>
  auto run(Function function) {
    return spawn(std::move(function)).get();
  }

  /// Returns when every living rank has called it. Collective, one thread or task per rank at a time.
  void barrier(const std::source_location& where = std::source_location::current());
  /// Returns when every living rank has called it, all tasks have ended and no parcel is under way: the end
  /// of a program whose tasks make tasks. Collective, one thread per rank, or any number of tasks: those that
  /// wait here do not count as tasks, nor do the calls that have begun them, and those of a rank that wait at
  /// a time count as one call.
  void wait_quiet(const std::source_location& where = std::source_location::current());

  // What the templates of this interface stand on.
  [[nodiscard]] detail::Core& core() noexcept { return *core_; }
  [[nodiscard]] std::shared_ptr<detail::RuntimeLink> link() const noexcept;

 private:
  void start(std::unique_ptr<Parcelport> port, RuntimeOptions options);
  template <class A, class Values>
  Future<detail::ResultOf<A>> call_here(Values values);

  detail::Core* core_ = nullptr;  // kept for a while after the end: a thread that still calls is told
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace weft::parcel

#include <weft/parcel/detail/calls.hpp>
