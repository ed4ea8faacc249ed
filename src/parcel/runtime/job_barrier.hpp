// Barriers among the living ranks, with and without waiting until no task and no parcel is left.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <source_location>
#include <utility>
#include <vector>

#include <weft/parcel/waiter.hpp>

namespace weft::parcel {

namespace detail {
class Core;
}

/// The lowest living rank is the root: it collects arrivals, and, where all must be quiet, asks all ranks for
/// their counts until two rounds in a row are equal, and nothing is under way (the four-counter method of
/// Mattern, Distributed Computing 2, 1987). Where parcels were lost whose number nobody knows, the rounds
/// must be equal for a while instead. Tasks that wait for quiet, and calls that do, are no unrest, except for
/// the end of the runtime, which comes after them. Messages between ranks are those of handle().
class JobBarrier {
 public:
  enum class Kind : std::uint8_t { plain, quiet, end };
  static constexpr std::array kKinds{Kind::plain, Kind::quiet, Kind::end};
  enum class Message : std::uint8_t { arrival, question, counts, release };
  struct Record {
    Message message;
    Kind kind;
    std::uint16_t unused = 0;
    std::uint32_t round = 0;
    std::uint64_t epoch = 0;
    std::uint64_t sent = 0;      // to living ranks
    std::uint64_t finished = 0;  // of living ranks
    std::uint64_t pending = 0;   // tasks and messages of this rank
    std::uint64_t failed = 0;    // how many ranks the sender knows to have failed
    std::uint64_t unknown = 0;   // times that it has dropped parcels without knowing how many
  };

  explicit JobBarrier(detail::Core& core);
  /// Arrives, and returns when all living ranks have. A task or any thread that is no worker. Those of a rank
  /// that wait for quiet at a time arrive once.
  void wait(Kind kind, const std::source_location& where);
  /// Tasks of this rank that wait for quiet.
  struct QuietTasks {
    std::uint64_t tasks = 0;
    std::vector<std::uint64_t> calls;  // of these, actions that were called by the rank
  };
  [[nodiscard]] QuietTasks quiet_tasks() const;
  /// A record has come. A worker, outside tasks.
  void handle(int source, const Record& record);
  /// Asks again when it is time. A worker, now and then.
  void look();
  /// Whether look() has something to do soon.
  [[nodiscard]] bool is_asking() const noexcept {
    return next_questions_[1].load(std::memory_order_relaxed) != kNever ||
           next_questions_[2].load(std::memory_order_relaxed) != kNever;
  }
  void peer_failed(int rank);

 private:
  struct State {
    std::uint64_t arrived = 0;                               // by this rank
    std::uint64_t released = 0;                              // of this rank
    std::vector<std::pair<std::uint64_t, Waiter*>> waiters;  // with the arrivals that they wait for
    std::vector<std::uint64_t> arrivals;                     // at the root, by rank
    bool is_asking = false;
    std::uint32_t round = 0;
    std::vector<std::uint8_t> answered;
    Record sum{};
    Record last{};
    bool has_last = false;
    std::int64_t changed_at = 0;  // when the counts of two rounds last differed
  };
  void advance(Kind kind);
  void ask(Kind kind);
  /// Parcels among this rank and the living ones, and what is pending.
  void fill_counts(Record& record);
  void release(Kind kind);
  /// With the mutex held.
  void end_waits(State& state, std::uint64_t released) noexcept;
  void send(int rank, const Record& record);
  [[nodiscard]] int root() const;

  detail::Core& core_;
  mutable std::mutex mutex_;
  std::array<State, kKinds.size()> states_;
  QuietTasks quiet_tasks_;  // until they are released
  static constexpr std::int64_t kNever = 0;
  // By kind, on the steady clock, in nanoseconds.
  std::array<std::atomic<std::int64_t>, kKinds.size()> next_questions_{};
};

}  // namespace weft::parcel
