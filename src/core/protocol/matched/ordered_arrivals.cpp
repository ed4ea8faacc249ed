#include "core/protocol/matched/ordered_arrivals.hpp"

#include "core/protocol/matched/complete_receive.hpp"
#include "core/protocol/matched/store_unexpected.hpp"
#include "core/protocol/message_class.hpp"

#include <weft/detail/message_access.hpp>

#include <utility>

namespace weft::core {

using Arrival = OrderedMatching::Arrival;

/// A message that began to wait, as long as it does.
struct OrderedArrivals::Kept {
  MatchRecord* record = nullptr;
  std::uint32_t generation = 0;

  MatchRecord* is(MatchRecord* made) noexcept {
    record = made;
    if (made != nullptr) generation = made->generation();
    return made;
  }
};

bool OrderedArrivals::is_meant(std::uint32_t trailer) noexcept {
  const std::uint32_t engine_and_policy = trailer & 0xffffff;
  return engine_and_policy >= kMatchingEngines && engine_and_policy < MatchingEngines::kAllIds;
}

/// Completes the receives that match messages that were held, and drops those of contexts that have ended.
void OrderedArrivals::receive_held(MatchingEngine& engine, const Arrival& result) noexcept {
  for (MatchRecord* message = result.late; message != nullptr;)
    receiver_.drop_probed(engine, *std::exchange(message, message->next));
  for (MatchRecord* receive = result.due; receive != nullptr;) {
    MatchRecord* const next = receive->next;
    static_cast<void>(
        receiver_.receive_probed(engine, *receive, receive->buffer,
                                 {.completion = receive->completion, .user_data = receive->user_data}));
    receive = next;
  }
}

/// Drops a message in a context that has ended, unless it is held until its turn comes.
void OrderedArrivals::drop_late(MatchingEngine& engine, std::uint64_t tag, const Kept& kept) noexcept {
  if (comes_late(engine, tag) && engine.take_back(*kept.record, kept.generation)) [[unlikely]]
    receiver_.drop_probed(engine, *kept.record);
}

bool OrderedArrivals::match_one(MatchingEngine& engine, std::uint64_t tag, Message& arrival,
                                const MatchTrailer& trailer) noexcept {
  if (!engine.has_fast_path()) return false;
  OrderedMatching& order = *engine.order();
  const OrderedMatching::Hold hold = order.try_enter();
  if (hold == nullptr) return false;
  const int peer = arrival.peer();
  MatchRecord* const record = order.try_take_receive(order.arrivals(peer, trailer.device), trailer.order,
                                                     {tag, static_cast<std::uint32_t>(peer), 0});
  order.leave(hold);
  if (record == nullptr) return false;
  const Bytes payload = arrival.bytes().first(arrival.size() - sizeof trailer);
  if (Completion* const completion = record->completion; completion->counts_only()) {
    fill_counted(*record, payload, &arrival);
    engine.storage().release_receive(*record);
    completion->signal_count(1);
  } else {
    Message message;
    detail::MessageAccess::set_receive(message, peer, context_.device);
    complete_receive(engine, *record, message, tag, payload, &arrival);
  }
  returns_.consume(returns_.ledger(class_of(trailer)), peer, trailer.device, 1);
  return true;
}

bool OrderedArrivals::on_send(MatchingEngine& engine, std::uint64_t tag, Message& arrival,
                              const MatchTrailer& trailer, network::Sink& sink) noexcept {
  const int peer = arrival.peer();
  CreditLedger& ledger = returns_.ledger(class_of(trailer));
  bool may_keep = true;
  Kept kept;
  const Arrival result = engine.order()->arrive(
      peer, trailer.device, trailer.order, tag,
      [&]() -> MatchRecord* {
        may_keep = ledger.admit(peer, trailer.device);
        return kept.is(may_keep ? core::store_unexpected(engine, ledger, tag, arrival, trailer) : nullptr);
      },
      engine.contexts());
  switch (result.answer) {
    case Arrival::Answer::matched: {
      Message message;
      detail::MessageAccess::set_receive(message, peer, context_.device);
      complete_receive(engine, *result.record, message, tag,
                       arrival.bytes().first(arrival.size() - sizeof trailer), &arrival);
      returns_.consume(ledger, peer, trailer.device, 1);
      break;
    }
    case Arrival::Answer::kept:
      drop_late(engine, tag, kept);
      break;
    case Arrival::Answer::later:
      if (may_keep) return false;
      sink.reject(peer, "more messages without receives than there are credits", tag);
      return true;
    case Arrival::Answer::rejected:
      sink.reject(peer, "send to an ordered engine with a number that was used before", trailer.order);
      return true;
  }
  receive_held(engine, result);
  return true;
}

bool OrderedArrivals::on_send_rts(MatchingEngine& engine, const MatchTrailer& trailer, Unexpected& stored,
                                  network::Sink& sink) noexcept {
  const int peer = stored.peer;
  const std::uint64_t tag = stored.tag;
  Kept kept;
  const Arrival result = engine.order()->arrive(
      peer, trailer.device, trailer.order, tag,
      [&]() -> MatchRecord* {
        MatchRecord* const record = engine.storage().records().take();
        if (record != nullptr) MatchStorage::set_unexpected(*record, stored);
        return kept.is(record);
      },
      engine.contexts());
  switch (result.answer) {
    case Arrival::Answer::matched:
      result.record->unexpected = &stored;
      receiver_.fetch(engine, *result.record);
      break;
    case Arrival::Answer::kept:
      drop_late(engine, tag, kept);
      break;
    case Arrival::Answer::later:
      engine.storage().unexpected().release(stored);
      return false;
    case Arrival::Answer::rejected:
      engine.storage().unexpected().release(stored);
      sink.reject(peer, "RTS to an ordered engine with a number that was used before", trailer.order);
      return true;
  }
  receive_held(engine, result);
  return true;
}

}  // namespace weft::core
