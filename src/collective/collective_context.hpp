// The context of a Collective: rank, matching context, mailbox and ring, shared by all of its operations.
#pragma once

#include "collective/calls/roll_call.hpp"
#include "collective/host_exchange.hpp"
#include "collective/kept_runs.hpp"
#include "collective/kinds/algorithm_table.hpp"
#include "collective/long_wait.hpp"
#include "collective/mailbox.hpp"
#include "collective/note_receive.hpp"
#include "collective/posted.hpp"
#include "collective/ring.hpp"
#include "collective/tag_form.hpp"

#include <weft/collective.hpp>
#include <weft/matching/context.hpp>
#include <weft/runtime.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::collective {

class CollectiveRun;

/// A message of another length than expected; the first one of a run.
struct Mismatch {
  int peer = -1;  // rank of the job
  std::size_t sent = 0;
  std::size_t expected = 0;
};

/// The ranks from which a collective that is carried out at once awaits messages, where they are several.
class AwaitedSources {
 public:
  void add(int first, int further) {
    if (ranks_.empty()) ranks_.push_back(first);
    ranks_.push_back(further);
  }
  [[nodiscard]] std::span<const int> or_only(std::span<const int> single) const noexcept {
    return ranks_.empty() ? single : std::span<const int>(ranks_);
  }
  void clear() noexcept { ranks_.clear(); }

 private:
  std::vector<int> ranks_;
};

/// What the other ranks of a job of one rank would do meanwhile: moves communication until it is quiet, as
/// far as that comes soon.
inline void progress_alone(detail::CollectivePort& port) noexcept {
  constexpr int kMost = 1024;
  for (int count = 0; count < kMost && port.progress() != 0; ++count) {
  }
}

/// What keeps the messages of a Collective apart, and its limits: by default that of a StreamGroup, whose
/// members have agreed upon a matching context.
struct CollectiveSetup {
  static constexpr std::uint32_t kNoHandle = ~std::uint32_t{0};
  MatchingContext context;
  std::optional<std::uint32_t> key{};  // CollectiveOptions::key; none: of a StreamGroup
  std::uint32_t handle = kNoHandle;    // the id of the object that it exposes
  std::int64_t timeout = 0;            // CollectiveOptions::timeout, in nanoseconds

  /// What is to be destroyed before the runtime: "Collective (key 255)".
  [[nodiscard]] std::string owner() const {
    return key ? "Collective (key " + std::to_string(*key) + ")" : std::string("StreamGroup");
  }
};
/// That of a Collective of the program. Throws weft::Error when this rank is no member of the team, and when
/// the key is out of range or in use.
[[nodiscard]] CollectiveSetup setup_of(Runtime& runtime, const Team& team, const CollectiveOptions& options);

class CollectiveContext final : private RollCall::Sender {
 public:
  CollectiveContext(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, const Team& team,
                    std::uint8_t device, CollectiveSetup&& setup);
  ~CollectiveContext();

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] const Team& team() const noexcept { return team_; }
  // Ranks of the team are the job's in posts and messages.
  [[nodiscard]] int peer_of(int rank) const noexcept { return team_.at(rank); }
  [[nodiscard]] int rank_of(int peer) const noexcept override { return team_.rank_of(peer); }
  /// "rank 1", or "rank 1 of the team (rank 5 of the job)".
  [[nodiscard]] std::string name_of(int rank) const override;
  /// Returns true when a member has failed: from then on no collective can be completed.
  [[nodiscard]] bool has_lost_a_rank() const noexcept {
    return losses_ == nullptr ? runtime_.failed_peers() != 0 : losses_->has_lost_a_member();
  }
  [[nodiscard]] detail::CollectivePort& port() noexcept { return *port_; }
  /// Null: the Collective exposes nothing, and all its messages are matched.
  [[nodiscard]] Mailbox* mailbox() noexcept { return mailbox_.get(); }
  [[nodiscard]] Ring& ring() noexcept { return ring_; }
  [[nodiscard]] RollCall& roll_call() noexcept { return roll_call_; }
  /// Begins a run; returns its number.
  [[nodiscard]] std::uint64_t next_run(const detail::CollectiveCall& call) noexcept {
    const std::uint64_t number = runs_.fetch_add(1, std::memory_order_relaxed);
    roll_call_.begin(number, call);
    return number;
  }
  /// The next run takes this number: that of one that has only prepared it; and tests look at numbers that
  /// are reached after hours.
  void set_next_run(std::uint64_t number) noexcept { runs_.store(number, std::memory_order_relaxed); }
  [[nodiscard]] const TagForm& tags() const noexcept { return tags_; }
  /// The tags of a run, without segment and step.
  [[nodiscard]] std::uint64_t tag_of(std::uint64_t number,
                                     const detail::CollectiveCall& call) const noexcept {
    return tags_.of(number, signature_of(call));
  }
  /// Progresses until `object`, which waits for messages of `peers` in the run `number`, is ready. Asks them
  /// now and then whether they have called the same. Returns false when they have not: the run cannot end.
  template <class Object>
  [[nodiscard]] bool wait(Object& object, std::uint64_t number, std::span<const int> peers) noexcept {
    LongWait waiting(
        *this, number, peers, [](void* what) noexcept { return is_ready(*static_cast<Object*>(what)); },
        &object);
    wait_for(waiting, object);
    return !waiting.differs();
  }
  /// CollectiveOptions::timeout in nanoseconds.
  [[nodiscard]] std::int64_t timeout() const noexcept { return timeout_; }
  /// Returns true when the thread that waits in this run has done so for too long, since its first look.
  [[nodiscard]] bool is_late(std::uint64_t number, std::int64_t now) noexcept {
    if (timeout_ == 0) return false;
    if (waits_in_ != number) {
      waits_in_ = number;
      waits_since_ = now;
    }
    return now - waits_since_ >= timeout_;
  }
  /// A run cannot end because of a verdict: returns timed_out, or throws weft::Error, which names what two
  /// ranks have called.
  Outcome give_up(std::uint64_t number);
  /// Sends verdicts, for a while, to ranks that did not take them.
  void tell_all() noexcept;
  /// The same before a run begins, for verdicts that break all that follows, or that this rank has not
  /// reported yet.
  Outcome refuse_broken();
  /// Returns the outcome with which a run ends at once; ok: it can begin.
  [[nodiscard]] Outcome before_run() noexcept {
    if (has_lost_a_rank()) return Outcome::peer_failed;
    if (!roll_call_.is_broken()) [[likely]]
      return Outcome::ok;
    return roll_call_.is_expired() ? Outcome::timed_out : Outcome::cancelled;
  }

  [[nodiscard]] SendOptions send_options(Completion& completion) const noexcept {
    return {.completion = &completion, .engine = tags_.engine(), .device = device_, .may_complete_now = true};
  }
  [[nodiscard]] ReceiveOptions receive_options(Completion& completion) const noexcept {
    return {.completion = &completion, .engine = tags_.engine()};
  }

  /// Returns scratch memory of at least `bytes` bytes for a collective that is carried out at once, by
  /// number; it is kept for the next one.
  [[nodiscard]] std::byte* scratch(std::size_t number, std::size_t bytes);
  [[nodiscard]] AwaitedSources& sources() noexcept { return sources_; }

  [[nodiscard]] const AlgorithmChoice& algorithms() const noexcept { return algorithms_; }
  [[nodiscard]] HostExchange& near() noexcept { return near_; }
  [[nodiscard]] KeptRuns& kept_runs() noexcept { return kept_runs_; }

  [[nodiscard]] PostedRuns& posted() noexcept { return posted_; }

  /// A CollectiveOperation has been made (1), or is destroyed (-1).
  void note_operation(int change) noexcept {
    operations_.fetch_add(static_cast<std::uint32_t>(change), std::memory_order_relaxed);
  }

  /// Throws weft::Error when the arguments of the call are wrong on this rank.
  void check(const detail::CollectiveCall& call) const;
  /// Throws weft::Error for a message of another length, after telling all ranks of it.
  [[noreturn]] void report(const detail::CollectiveCall& call, std::uint64_t number,
                           const Mismatch& mismatch);

 private:
  friend class HostExchange;  // which waits
  [[nodiscard]] static bool is_ready(const Completion& object) noexcept { return object.ready(); }
  [[nodiscard]] static bool is_ready(Graph& graph) noexcept { return graph.test(); }
  void wait_for(LongWait& waiting, Completion& object) noexcept;
  bool send_note(int rank, Bytes note) noexcept override;

  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t size = 0;
  };

  /// Learns which members of a part of the job fail.
  class Losses final : public Completion {
   public:
    explicit Losses(CollectiveContext& context) : context_(context) {
      context_.runtime_.on_peer_failure(*this);
    }
    ~Losses() override {
      context_.runtime_.forget_peer_failures(*this);
      retire();
    }
    void signal(Message& message) noexcept override;
    [[nodiscard]] bool ready() const noexcept override { return has_lost_a_member(); }
    [[nodiscard]] bool has_lost_a_member() const noexcept {
      return has_lost_.load(std::memory_order_relaxed);
    }

   private:
    CollectiveContext& context_;
    std::atomic<bool> has_lost_{false};
  };

  Runtime& runtime_;
  const Team team_;
  const int rank_;
  const int size_;
  const AlgorithmChoice algorithms_;
  std::unique_ptr<detail::CollectivePort> port_;
  const std::uint8_t device_;
  KeptRuns kept_runs_{*this};  // before the engine, whose end cancels receives
  NoteReceive notes_{*this};   // before the matching context, too
  const MatchingContext own_context_;
  const std::optional<std::uint32_t> key_;  // none: of a StreamGroup
  const TagForm tags_;
  RollCall roll_call_{rank_, size_, *this};
  Ring ring_;
  std::unique_ptr<Mailbox> mailbox_;  // after the ring, to which it passes messages
  std::atomic<std::uint64_t> runs_{0};
  std::vector<Block> scratch_;
  AwaitedSources sources_;
  HostExchange near_;
  PostedRuns posted_{*this};
  const std::int64_t timeout_ = 0;
  std::uint64_t waits_in_ = ~std::uint64_t{0};  // the run in which a thread waits, since when
  std::int64_t waits_since_ = 0;
  std::atomic<std::uint32_t> operations_{0};  // CollectiveOperations
  std::unique_ptr<Losses> losses_;            // null: all ranks of the job are members
  const weft::detail::RuntimeUser user_;
};

}  // namespace weft::collective
