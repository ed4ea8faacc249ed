// What arrives for ordered engines: sends and RTS messages that arrive alone, and batches of sends.
//
// The lock of a stream and the lock of an engine's order are never held while a completion object is
// signalled, because it may post to the same engine.
//
// Sources: ordered_arrivals.cpp, ordered_batch.cpp.
#pragma once

#include "core/backlog/backlog.hpp"
#include "core/matching/matching_engines.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/matched/credit_returns.hpp"
#include "core/protocol/matched/matched_receiver.hpp"
#include "core/protocol/wire.hpp"

namespace weft::core {

class OrderedArrivals {
 public:
  OrderedArrivals(const Context& context, MatchingEngines& engines, CreditReturns& returns,
                  MatchedReceiver& receiver) noexcept
      : context_(context), engines_(engines), returns_(returns), receiver_(receiver) {}

  /// Returns true when a trailer names an ordered engine and is valid.
  [[nodiscard]] static bool is_meant(std::uint32_t trailer) noexcept;
  /// Take a send, or the RTS of one. Return false when it cannot be accepted now.
  bool on_send(MatchingEngine& engine, std::uint64_t tag, Message& arrival, const MatchTrailer& trailer,
               network::Sink& sink) noexcept;
  bool on_send_rts(MatchingEngine& engine, const MatchTrailer& trailer, Unexpected& stored,
                   network::Sink& sink) noexcept;
  /// Handles the messages of a batch that are for the same ordered engine as its first. Returns false when
  /// one of them cannot be accepted now.
  /// Batch: SlotBatch or MultiSlotBatch.
  template <class Batch>
  bool on_sends(Batch& batch, detail::PayloadLender* lender, network::Sink& sink,
                const Backlog& backlog) noexcept;
  /// Fast path of on_send(), whose message matches a receive at once. Returns false, without effect, when it
  /// does not apply.
  bool match_one(MatchingEngine& engine, std::uint64_t tag, Message& arrival,
                 const MatchTrailer& trailer) noexcept;

 private:
  struct Kept;
  void receive_held(MatchingEngine& engine, const OrderedMatching::Arrival& result) noexcept;
  void drop_late(MatchingEngine& engine, std::uint64_t tag, const Kept& kept) noexcept;
  template <class Locking, class Batch>
  std::uint32_t store_unexpected(Batch& batch, std::uint64_t trailer, MatchingEngine& engine,
                                 ArrivalSequence& stream) noexcept;

  const Context& context_;
  MatchingEngines& engines_;
  CreditReturns& returns_;
  MatchedReceiver& receiver_;
};

}  // namespace weft::core
