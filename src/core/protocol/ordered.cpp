// Sends and receives of ordered engines.
//
// The lock of a stream and the lock of an engine's order are only held while nothing is signalled: completion
// objects may post to the same engine.
#include "core/protocol/complete.hpp"
#include "core/protocol/refusal.hpp"
#include "core/protocol/send_receive.hpp"

#include <weft/detail/message_access.hpp>

#include <cstring>

namespace weft::core {

using network::SendResult;

using Arrival = OrderedMatching::Arrival;

// Sending.

Status SendReceive::attempt_ordered_send(MatchingEngine& engine, int peer, std::uint64_t tag,
                                         const SendPayload& payload, const SendOptions& options,
                                         Packet* packet, bool keeps_room, bool exclusive,
                                         bool again) noexcept {
  const auto device = static_cast<std::uint8_t>(context_.device);
  SendStream& stream = engine.order()->sends(peer, device);
  auto* const turn = detail::enter(stream.bias, stream.lock, exclusive);
  if (turn == nullptr) return Status::retry(Reason::lock_contended);
  Status status = Status::retry(Reason::backlog);
  if (again || stream.kept.load(std::memory_order_relaxed) == 0) {
    const MatchTrailer trailer{engine.id(),
                               policy_and_class(MatchingPolicy::rank_and_tag, options.message_class), device,
                               stream.next};
    status = send_silently(peer, tag, payload, trailer, options, packet, keeps_room, exclusive);
  }
  if (!status.is_retry()) {
    ++stream.next;
    if (again) stream.kept.fetch_sub(1, std::memory_order_relaxed);
  }
  detail::leave(turn, exclusive);
  if (!status.is_done() || options.completion == nullptr) return status;
  return ended(context_.port->gone(peer), peer, tag, payload.bytes, options);
}

/// As attempt_send(), but when the message has left, the completion object is for the caller to signal.
Status SendReceive::send_silently(int peer, std::uint64_t tag, const SendPayload& payload,
                                  const MatchTrailer& trailer, const SendOptions& options, Packet* packet,
                                  bool keeps_room, bool exclusive) noexcept {
  if (goes_at_once(payload.size())) {
    SendOptions silent = options;
    silent.completion = nullptr;
    if (take_credit(peer, options, exclusive)) [[likely]] {
      const Status status = send_at_once(peer, tag, payload, trailer, silent, packet, keeps_room, exclusive);
      if (status.is_retry()) credits_of(options).undo(1, peer, options.device);
      return status;
    }
    if (context_.port->gone(peer)) return sent(SendResult::peer_gone, peer, tag, payload.bytes, silent);
    if (options.completion == nullptr || packet != nullptr ||
        !credits_of(options).is_out_of_patience(peer, options.device))
      return Status::retry(Reason::no_credit);
  }
  SendResult result = SendResult::sent;
  const Status status = start_large(peer, tag, payload, trailer, options, exclusive, result);
  if (result == SendResult::peer_gone)
    context_.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
  return status;
}

// Receiving.

Status SendReceive::attempt_ordered_receive(MatchingEngine& engine, int source, std::uint64_t tag,
                                            std::span<std::byte> buffer, const ReceiveOptions& options,
                                            bool again) noexcept {
  OrderedMatching& order = *engine.order();
  if (!again && order.kept_receives().load(std::memory_order_relaxed) != 0) [[unlikely]]
    return Status::retry(Reason::backlog);
  const OrderedMatching::Hold hold = order.try_enter();
  if (hold == nullptr) [[unlikely]]
    return Status::retry(Reason::lock_contended);
  const auto [answer, record] = order.post({tag, static_cast<std::uint32_t>(source), 0},
                                           [&] { return take_posted(engine, buffer, options); });
  order.leave(hold);
  if (answer == Table::Answer::exhausted) return Status::retry(Reason::no_request);
  if (again) order.kept_receives().fetch_sub(1, std::memory_order_relaxed);
  return answer == Table::Answer::matched ? receive_arrived(engine, *record, buffer, options)
                                          : Status::posted();
}

// Arriving.

/// Receives what messages have met that were held.
void SendReceive::receive_held(MatchingEngine& engine, MatchRecord* first) noexcept {
  for (MatchRecord* receive = first; receive != nullptr;) {
    MatchRecord* const next = receive->next;
    static_cast<void>(receive_arrived(engine, *receive, receive->buffer,
                                      {.completion = receive->completion, .user_data = receive->user_data}));
    receive = next;
  }
}

bool SendReceive::on_ordered_send(MatchingEngine& engine, std::uint64_t tag, Message& arrival,
                                  const MatchTrailer& trailer, network::Sink& sink) noexcept {
  const int peer = arrival.peer();
  CreditLedger& ledger = ledgers_.of(class_of(trailer));
  bool may_keep = true;
  const Arrival result =
      engine.order()->arrive(peer, trailer.device, trailer.order, tag, [&]() -> MatchRecord* {
        may_keep = ledger.admit(peer, trailer.device);
        return may_keep ? keep(engine, tag, arrival, trailer) : nullptr;
      });
  switch (result.answer) {
    case Arrival::Answer::matched: {
      Message message;
      detail::MessageAccess::set_receive(message, peer);
      complete(engine, *result.record, message, tag, arrival.bytes().first(arrival.size() - sizeof trailer),
               &arrival);
      settle(ledger, peer, trailer.device, 1, exclusive_.load(std::memory_order_relaxed));
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

bool SendReceive::announce_in_order(MatchingEngine& engine, const MatchTrailer& trailer, Unexpected& note,
                                    network::Sink& sink) noexcept {
  const int peer = note.peer;
  const Arrival result =
      engine.order()->arrive(peer, trailer.device, trailer.order, note.tag, [&]() -> MatchRecord* {
        MatchRecord* kept = engine.records().take();
        if (kept != nullptr) MatchingEngine::set_unexpected(*kept, note);
        return kept;
      });
  switch (result.answer) {
    case Arrival::Answer::matched:
      result.record->unexpected = &note;
      fetch(engine, *result.record);
      break;
    case Arrival::Answer::kept:
      break;
    case Arrival::Answer::later:
      engine.unexpected().give_back(note);
      return false;
    case Arrival::Answer::rejected:
      engine.unexpected().give_back(note);
      sink.reject(peer, "announcement to an ordered engine with a number that was used before",
                  trailer.order);
      return true;
  }
  receive_held(engine, result.due);
  return true;
}

}  // namespace weft::core
