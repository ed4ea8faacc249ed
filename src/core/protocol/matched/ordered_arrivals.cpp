#include "core/protocol/matched/ordered_arrivals.hpp"

#include "core/protocol/matched/complete_receive.hpp"
#include "core/protocol/matched/store_unexpected.hpp"
#include "core/protocol/message_class.hpp"

#include <weft/detail/message_access.hpp>

namespace weft::core {

using Arrival = OrderedMatching::Arrival;

bool OrderedArrivals::is_meant(std::uint32_t trailer) noexcept {
  const std::uint32_t engine_and_policy = trailer & 0xffffff;
  return engine_and_policy >= kMatchingEngines && engine_and_policy < MatchingEngines::kAllIds;
}

/// Completes the receives that match messages that were held.
void OrderedArrivals::receive_held(MatchingEngine& engine, MatchRecord* first) noexcept {
  for (MatchRecord* receive = first; receive != nullptr;) {
    MatchRecord* const next = receive->next;
    static_cast<void>(
        receiver_.receive_probed(engine, *receive, receive->buffer,
                                 {.completion = receive->completion, .user_data = receive->user_data}));
    receive = next;
  }
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
  const Arrival result =
      engine.order()->arrive(peer, trailer.device, trailer.order, tag, [&]() -> MatchRecord* {
        may_keep = ledger.admit(peer, trailer.device);
        return may_keep ? core::store_unexpected(engine, ledger, tag, arrival, trailer) : nullptr;
      });
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
      break;
    case Arrival::Answer::later:
      if (may_keep) return false;
      sink.reject(peer, "more messages without receives than there are credits", tag);
      return true;
    case Arrival::Answer::rejected:
      sink.reject(peer, "send to an ordered engine with a number that was used before", trailer.order);
      return true;
  }
  receive_held(engine, result.due);
  return true;
}

bool OrderedArrivals::on_send_rts(MatchingEngine& engine, const MatchTrailer& trailer, Unexpected& stored,
                                  network::Sink& sink) noexcept {
  const int peer = stored.peer;
  const Arrival result =
      engine.order()->arrive(peer, trailer.device, trailer.order, stored.tag, [&]() -> MatchRecord* {
        MatchRecord* kept = engine.storage().records().take();
        if (kept != nullptr) MatchStorage::set_unexpected(*kept, stored);
        return kept;
      });
  switch (result.answer) {
    case Arrival::Answer::matched:
      result.record->unexpected = &stored;
      receiver_.fetch(engine, *result.record);
      break;
    case Arrival::Answer::kept:
      break;
    case Arrival::Answer::later:
      engine.storage().unexpected().release(stored);
      return false;
    case Arrival::Answer::rejected:
      engine.storage().unexpected().release(stored);
      sink.reject(peer, "RTS to an ordered engine with a number that was used before", trailer.order);
      return true;
  }
  receive_held(engine, result.due);
  return true;
}

}  // namespace weft::core
