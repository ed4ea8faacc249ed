// The receives of a device: each is posted to its engine, or takes the message that has arrived before it.
#pragma once

#include "concurrent/mpsc_list.hpp"
#include "core/backlog/caller.hpp"
#include "core/matching/matching_engines.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/matched/credit_returns.hpp"
#include "core/protocol/rendezvous/rendezvous.hpp"
#include "core/protocol/wire.hpp"

#include <weft/options.hpp>
#include <weft/status.hpp>

#include <atomic>
#include <span>

namespace weft::core {

class MatchedReceiver {
 public:
  MatchedReceiver(const Context& context, MatchingEngines& engines, CreditReturns& returns,
                  Rendezvous& large_messages) noexcept
      : context_(context), engines_(engines), returns_(returns), rendezvous_(large_messages) {}

  /// One attempt to receive, with checked arguments.
  Status attempt(MatchingEngine& engine, int source, std::uint64_t tag, std::span<std::byte> buffer,
                 const ReceiveOptions& options) noexcept;
  Status attempt_ordered(MatchingEngine& engine, int source, std::uint64_t tag, std::span<std::byte> buffer,
                         const ReceiveOptions& options, Caller caller) noexcept;
  /// Fast path of a receive by rank and tag whose unexpected message waits first in its bucket. Returns
  /// false, without effect, when it does not apply; the caller then falls back to attempt().
  template <class Locking>
  bool try_receive_unexpected(MatchingEngine& engine, std::uint64_t tag, std::uint32_t source,
                              std::span<std::byte> buffer, Completion* completion, void* user_data) noexcept;
  /// Completes a receive from the message that it matches, which was unlinked.
  template <class Locking>
  void complete_unexpected(MatchingEngine& engine, MatchRecord& message, std::span<std::byte> buffer,
                           Completion* completion, void* user_data) noexcept;
  /// The same as try_receive_unexpected() for a receive that may have to be posted after all, by try_post()
  /// or try_post_in_order() of the engine, whose answer it returns. Arguments are those of
  /// ReceivePosts::try_post(), in registers.
  template <MatchOrder kOrder, class Locking, class... UserData>
  bool receive_unexpected_or_post(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data,
                                  std::size_t size, Completion* completion, UserData... user_data) noexcept;

  /// Receives a message that was taken out of the engine.
  Status receive_probed(MatchingEngine& engine, MatchRecord& record, std::span<std::byte> buffer,
                        const ReceiveOptions& options) noexcept;
  void drop_probed(MatchingEngine& engine, MatchRecord& record) noexcept;
  /// Drops the messages in contexts that have ended: for a thread that has stored one, and then sees that
  /// some have ended meanwhile (has_ended_more()).
  void drop_late(MatchingEngine& engine) noexcept;
  /// Fetches the announced payload of a message that the record's receive has matched.
  void fetch(MatchingEngine& engine, MatchRecord& record) noexcept;
  /// A peer cancels a send whose RTS has arrived at this device: forgets the RTS unless a receive has matched
  /// it.
  void forget_announced(int peer, const Cancel& cancel) noexcept;

  /// Fetches payloads for which no transfer was free. One thread at a time. Returns how many it began.
  std::size_t step() noexcept;
  [[nodiscard]] bool has_work() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }

 private:
  using Table = MatchingEngine::Table;

  bool try_fetch(MatchRecord& record) noexcept;

  const Context& context_;
  MatchingEngines& engines_;
  CreditReturns& returns_;
  Rendezvous& rendezvous_;
  std::atomic<std::uint32_t> waiting_{0};
  concurrent::MpscList<MatchRecord> announced_;  // matched, but no transfer was free
};

}  // namespace weft::core
