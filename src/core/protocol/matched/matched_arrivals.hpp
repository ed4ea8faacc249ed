// What arrives for matching engines: an incoming send is matched with a posted receive, or stored as an
// unexpected message.
//
// Sources: arrive.cpp (single messages), arrive_batch.cpp (batches), store_unexpected.cpp (batches of
// unexpected messages).
#pragma once

#include "core/backlog/backlog.hpp"
#include "core/matching/matching_engines.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/matched/credit_returns.hpp"
#include "core/protocol/matched/matched_receiver.hpp"
#include "core/protocol/matched/ordered_arrivals.hpp"
#include "core/protocol/wire.hpp"

#include <atomic>

namespace weft::core {

class MatchedArrivals {
 public:
  MatchedArrivals(const Context& context, MatchingEngines& engines, CreditReturns& returns,
                  MatchedReceiver& receiver) noexcept
      : context_(context),
        engines_(engines),
        returns_(returns),
        receiver_(receiver),
        ordered_(context, engines, returns, receiver) {}

  /// Arrivals of the channels send and send_rts. Return false when the message cannot be accepted now.
  bool on_send(std::uint64_t tag, Message& arrival, network::Sink& sink) noexcept;
  bool on_send_rts(std::uint64_t tag, const Message& arrival, network::Sink& sink) noexcept;
  /// Handles several sends, until `backlog` is over its limit. Batch: SlotBatch or MultiSlotBatch.
  template <class Batch>
  void on_sends(Batch& batch, detail::PayloadLender* lender, network::Sink& sink,
                const Backlog& backlog) noexcept;

 private:
  using Table = MatchingEngine::Table;

  [[nodiscard]] const std::atomic<MatchingEngine*>* fast_path_engine(std::uint32_t trailer) const noexcept;
  void credit_matched(int peer, std::uint32_t trailer, std::uint32_t messages) noexcept;
  template <class Locking, class Batch>
  std::uint32_t match(Batch& batch, std::size_t most, std::uint32_t trailer, MatchingEngine& engine,
                      const Backlog& backlog) noexcept;
  template <class Locking, class Batch>
  std::uint32_t store_unexpected(Batch& batch, std::uint32_t trailer, MatchingEngine& engine,
                                 const Backlog& backlog) noexcept;
  enum class Match : std::uint8_t { receive, nothing, refused };
  Match on_send_slow(std::uint64_t tag, Message& arrival, network::Sink& sink) noexcept;
  bool match_one(std::uint64_t tag, Message& arrival) noexcept;
  template <class Locking>
  bool match_one(std::uint64_t tag, Message& arrival, std::uint32_t trailer, MatchingEngine& engine) noexcept;

  const Context& context_;
  MatchingEngines& engines_;
  CreditReturns& returns_;
  MatchedReceiver& receiver_;
  OrderedArrivals ordered_;
};

}  // namespace weft::core
