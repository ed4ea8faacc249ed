// The context of a Collective: rank, engine, mailbox and ring, shared by all of its operations.
#pragma once

#include "collective/mailbox.hpp"
#include "collective/ring.hpp"
#include "collective/roll_call.hpp"

#include <weft/collective.hpp>
#include <weft/matching.hpp>
#include <weft/runtime.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace weft::collective {

class CollectiveRun;

/// Tags of collective messages: number of the run (28 bits) | signature of the call (12) | segment (8) |
/// step (16). Runs are numbered in the order of their starts, which is the same on all ranks.
inline constexpr std::uint32_t kSegmentShift = 16;
inline constexpr std::uint32_t kSignatureShift = 24;
inline constexpr std::uint32_t kRunShift = 36;
/// Where several share an engine: their context (12 bits) in place of the upper bits of the run.
inline constexpr std::uint32_t kContextShift = 52;
inline constexpr std::uint64_t kRunsOfContext = 0xffff;

/// A message of another length than expected; the first one of a run.
struct Mismatch {
  int peer = -1;
  std::size_t sent = 0;
  std::size_t expected = 0;
};

class CollectiveContext final : private RollCall::Sender {
 public:
  CollectiveContext(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, std::uint8_t device,
                    const CollectiveOptions& options);
  /// One that shares its engine with others, which is open.
  CollectiveContext(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, std::uint8_t device,
                    const detail::CollectivePlace& place);
  ~CollectiveContext();

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// Returns true when a rank has failed: from then on no collective can be completed.
  [[nodiscard]] bool has_lost_a_rank() const noexcept { return runtime_.failed_peers() != 0; }
  [[nodiscard]] detail::CollectivePort& port() noexcept { return *port_; }
  [[nodiscard]] Mailbox& mailbox() noexcept { return mailbox_; }
  [[nodiscard]] Ring& ring() noexcept { return ring_; }
  [[nodiscard]] RollCall& roll_call() noexcept { return roll_call_; }
  /// Begins a run; returns its number.
  [[nodiscard]] std::uint64_t next_run(const detail::CollectiveCall& call) noexcept {
    const std::uint64_t number = runs_.fetch_add(1, std::memory_order_relaxed);
    roll_call_.begin(number, call);
    return number;
  }
  /// The tags of a run, without segment and step.
  [[nodiscard]] std::uint64_t tag_of(std::uint64_t number,
                                     const detail::CollectiveCall& call) const noexcept {
    const std::uint64_t run = own_engine_ != nullptr
                                  ? number << kRunShift
                                  : context_ << kContextShift | (number & kRunsOfContext) << kRunShift;
    return run | std::uint64_t{signature_of(call)} << kSignatureShift;
  }
  /// Progresses until `object`, which waits for messages of `peers` in the run `number`, is ready. Asks them
  /// now and then whether they have called the same. Returns false when they have not: the run cannot end.
  template <class Object>
  [[nodiscard]] bool wait(Object& object, std::uint64_t number, std::span<const int> peers) noexcept {
    Waiting waiting{*this, number, peers,
                    [](void* what) noexcept { return is_ready(*static_cast<Object*>(what)); }, &object};
    wait_for(waiting, object);
    return !waiting.differs;
  }
  /// What the other ranks of a job of one rank would do meanwhile: moves communication until it is quiet, as
  /// far as that comes soon.
  void progress_alone() noexcept;

  [[nodiscard]] SendOptions send_options(Completion& completion) const noexcept {
    return {.completion = &completion, .engine = engine_, .device = device_, .may_complete_now = true};
  }
  [[nodiscard]] ReceiveOptions receive_options(Completion& completion) const noexcept {
    return {.completion = &completion, .engine = engine_};
  }

  /// Returns scratch memory of at least `bytes` bytes for a collective that is carried out at once, by
  /// number; it is kept for the next one.
  [[nodiscard]] std::byte* scratch(std::size_t number, std::size_t bytes);
  // The ranks from which a collective that is carried out at once awaits messages, where they are several.
  void note_source(int first, int further) {
    if (sources_.empty()) sources_.push_back(first);
    sources_.push_back(further);
  }
  [[nodiscard]] std::span<const int> sources_or(std::span<const int> single) const noexcept {
    return sources_.empty() ? single : std::span<const int>(sources_);
  }
  void forget_sources() noexcept { sources_.clear(); }

  /// The graph of a long collective whose caller waits; the last one is kept for a call with the same
  /// arguments.
  [[nodiscard]] CollectiveRun& long_run(const detail::CollectiveCall& call);

  void forget_long_run() noexcept;

  /// Keeps memory of receives that may still be filled, until the engine has cancelled them.
  void keep_memory(std::vector<std::unique_ptr<std::byte[]>>&& memory);

  /// Keeps an operation until it has ended; drops those that have. `is_observed`: a completion object is
  /// signalled with its outcome.
  void keep_posted(std::unique_ptr<CollectiveRun> run, bool is_observed);
  [[nodiscard]] Outcome wait_posted();

  /// A CollectiveOperation has been made (1), or is destroyed (-1).
  void note_operation(int change) noexcept {
    operations_.fetch_add(static_cast<std::uint32_t>(change), std::memory_order_relaxed);
  }

  /// Throws weft::Error when the arguments of the call are wrong on this rank.
  void check(const detail::CollectiveCall& call) const;
  [[noreturn]] static void report(const detail::CollectiveCall& call, const Mismatch& mismatch);

 private:
  struct Waiting {
    CollectiveContext& context;
    std::uint64_t number;
    std::span<const int> peers;
    bool (*is_ready)(void* what) noexcept;
    void* what;
    bool differs = false;
    std::uint32_t looks = 0;
    std::uint32_t asked = 0;
    std::int64_t asks_at = 0;  // the time of the next question, in nanoseconds
    std::int64_t pause = 0;

    [[nodiscard]] bool is_over() noexcept;
  };
  [[nodiscard]] static bool is_ready(const Completion& object) noexcept { return object.ready(); }
  [[nodiscard]] static bool is_ready(Graph& graph) noexcept { return graph.test(); }
  void wait_for(Waiting& waiting, Completion& object) noexcept;
  void send_note(int peer, Bytes note) noexcept override;
  struct Posted {
    std::unique_ptr<CollectiveRun> run;
    bool is_observed = false;
  };
  void drop_ended() noexcept;  // under posted_mutex_

  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t size = 0;
  };

  const Runtime& runtime_;
  const int rank_;
  const int size_;
  std::unique_ptr<detail::CollectivePort> port_;
  const std::uint8_t device_;
  std::mutex posted_mutex_;  // protects abandoned_ and posted_, which threads that post change
  std::vector<std::unique_ptr<std::byte[]>> abandoned_;  // before the engine, whose end cancels receives
  const std::unique_ptr<MatchingEngine> own_engine_;
  const std::uint16_t engine_;
  const std::uint64_t context_ = 0;
  RollCall roll_call_{rank_, size_, *this};
  Ring ring_;
  Mailbox mailbox_;  // after the ring, to which it passes messages
  std::atomic<std::uint64_t> runs_{0};
  std::vector<Block> scratch_;
  std::vector<int> sources_;
  std::unique_ptr<CollectiveRun> last_long_;
  std::vector<Posted> posted_;
  std::atomic<std::uint32_t> operations_{0};  // CollectiveOperations
  const weft::detail::RuntimeUser user_;
};

}  // namespace weft::collective
