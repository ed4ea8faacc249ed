// Synchronizers: wait for a fixed number of operations and keep their messages.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/detail/empty_polls.hpp>
#include <weft/detail/signal_rounds.hpp>

#include <cstdint>
#include <memory>
#include <span>

namespace weft {

/// Becomes ready after a number of signals and keeps their messages, in order of arrival and by slot: the
/// synchronizer of the LCI paper. Any number of threads signal; one at a time waits, reads and resets.
///
///     weft::Synchronizer both{2};
///     endpoint.post_receive(peer, tag, in, {.completion = &both, .user_data = both.slot(0)});
///     endpoint.post_send(peer, tag, out, {.completion = &both, .user_data = both.slot(1)});
///     endpoint.wait(both);
///     use(both.by_slot(0)->size());
///     both.reset();
///
/// Signals that come before reset() count towards the next round, in order of arrival; there is room for one
/// whole round. A signal that comes when that is full as well is a mistake of the program: its message is
/// dropped, reported on standard error (the first time), and counted by lost().
class WEFT_API Synchronizer final : public Completion {
 public:
  static constexpr std::uint32_t kMaxSignals = 1U << 24;

  /// `signals`: the number of signals of a round, 1 to kMaxSignals; weft::Error otherwise. Allocates all
  /// memory that the object ever needs.
  explicit Synchronizer(std::uint32_t signals = 1);
  ~Synchronizer() override;

  /// Keeps the message; its payload is kept as a queue does (Message::take).
  void signal(Message& message) noexcept override;
  [[nodiscard]] bool ready() const noexcept override { return rounds_.ready(); }
  /// ready() for threads that only test, while others progress: gives way as an empty pop of a queue does.
  /// Only reads; does not progress.
  [[nodiscard]] bool test() const noexcept {
    if (ready()) return true;
    detail::note_empty_poll();
    return false;
  }

  /// A user_data that puts the message of the operation that it is posted with into slot `index`, 0 to
  /// signals() - 1. It is an address inside this object's memory, which distinguishes it from other
  /// user_data, and is valid in every round.
  [[nodiscard]] void* slot(std::uint32_t index) noexcept;

  /// The messages of the round in order of arrival, once it is ready; until reset().
  [[nodiscard]] std::span<Message> messages() noexcept;
  /// The message of the operation that was posted with slot(index), once the round is ready; nullptr when
  /// this round had none. If there were several, the last one to arrive.
  [[nodiscard]] Message* by_slot(std::uint32_t index) noexcept;

  /// Destroys the messages and begins the next round, once the current one is ready.
  void reset() noexcept;

  [[nodiscard]] std::uint32_t signals() const noexcept { return rounds_.signals(); }
  /// The number of signals that found both rounds full.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  void report_loss(const Message& message) noexcept;

  detail::SignalRounds<> rounds_;
  std::unique_ptr<Message[]> messages_;                    // of two rounds
  std::unique_ptr<std::atomic<std::uint32_t>[]> arrival_;  // by round and slot: number in messages(), plus 1
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace weft
