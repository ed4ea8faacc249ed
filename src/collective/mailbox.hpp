// The mailbox: receives the short messages of collectives that synchronize all ranks and whose callers wait.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/runtime.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::collective {

class Ring;
class RollCall;

/// A barrier or allreduce ends on no rank before all ranks have begun it. So messages of at most two such
/// runs (turns) may be in the mailbox at a time, one of each step; two sets of slots, used in turn, hold
/// them. Active messages, which are faster than matched ones, therefore need no receives.
class Mailbox final : public Completion {
 public:
  static constexpr std::size_t kBytes = 4096;  // the largest message

  /// The tag of notes of the roll call: a step that no algorithm has.
  static constexpr std::uint32_t kRollCall = 0xff;

  /// `ring` gets the messages with Ring::kTag, and `roll_call` those with kRollCall.
  Mailbox(Runtime& runtime, int ranks, std::uint32_t id, std::uint8_t device, Ring& ring,
          RollCall& roll_call);
  ~Mailbox() override { withdraw(); }

  /// Accepts active messages, by tag; and the end of a guard (see below).
  void signal(Message& message) noexcept override;
  /// Returns true when the message that await() has named has arrived, or the guard has ended.
  [[nodiscard]] bool ready() const noexcept override { return has_arrived() || guard_ended(); }

  [[nodiscard]] RemoteCompletion remote() const noexcept { return remote_; }
  /// Begins a turn and returns its base: tags are the base plus the step, equal on all ranks that have called
  /// the same collective in the same position of their order: number of the run (4 bits) | signature (its
  /// lower 8) | turn (11) | step (8).
  [[nodiscard]] std::uint32_t next_turn(std::uint32_t signature, std::uint64_t number) noexcept {
    return ((signature & 0xff) | (static_cast<std::uint32_t>(number) & 0xf) << 8) << 19 | (turn_++ & 0x7ff)
                                                                                              << 8;
  }
  /// The awaited message has been used: no message of an earlier turn is taken for one of a later turn.
  void clear() noexcept { slot(awaited_).full.store(0, std::memory_order_relaxed); }

  void await(std::uint32_t tag) noexcept {
    awaited_ = tag;
    guard_ended_.store(false, std::memory_order_relaxed);
  }
  [[nodiscard]] bool has_arrived() const noexcept {
    // Pairs with the release in signal().
    return slot(awaited_).full.load(std::memory_order_acquire) == awaited_ + 1;
  }
  [[nodiscard]] std::byte* data_of(std::uint32_t tag) noexcept { return slot(tag).data; }
  [[nodiscard]] std::size_t arrived_size() const noexcept { return slot(awaited_).size; }

  // A rank that has left sends nothing, and waiting for its active message would never end. A thread that
  // waits for long therefore posts a receive from the same rank, which ends when the rank has left: the
  // guard.
  [[nodiscard]] bool guard_ended() const noexcept { return guard_ended_.load(std::memory_order_acquire); }
  [[nodiscard]] Outcome guard_outcome() const noexcept { return guard_outcome_; }
  [[nodiscard]] std::size_t guard_length() const noexcept { return guard_length_; }

 private:
  struct Slot {
    std::atomic<std::uint32_t> full{0};  // the tag of the last message, plus 1
    std::uint32_t size = 0;
    alignas(16) std::byte data[kBytes];
  };
  [[nodiscard]] Slot& slot(std::uint32_t tag) const noexcept {
    return slots_[(tag >> 8) % 2 * steps_ + (tag & 0xff)];
  }

  Ring& ring_;
  RollCall& roll_call_;
  const std::uint32_t steps_;
  const std::unique_ptr<Slot[]> slots_;
  std::uint32_t turn_ = 0;
  std::uint32_t awaited_ = 0;
  std::atomic<bool> guard_ended_{false};
  Outcome guard_outcome_ = Outcome::ok;
  std::size_t guard_length_ = 0;
  RemoteCompletion remote_;
};

}  // namespace weft::collective
