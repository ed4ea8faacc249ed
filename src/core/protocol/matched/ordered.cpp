// Sends, receives and single incoming messages of ordered matching engines.
//
// The lock of a stream and the lock of an engine's order are never held while a completion object is
// signalled, because it may post to the same engine.
#include "core/protocol/matched/complete_receive.hpp"
#include "core/protocol/matched/matched_messages.hpp"
#include "core/protocol/to_status.hpp"

#include <weft/detail/message_access.hpp>

#include <cstring>

namespace weft::core {

using network::SendResult;

using Arrival = OrderedMatching::Arrival;

// Sending.

Status MatchedMessages::attempt_ordered_send(MatchingEngine& engine, int peer, std::uint64_t tag,
                                             const SendPayload& payload, const SendOptions& options,
                                             Packet* packet, Caller caller) noexcept {
  const auto device = static_cast<std::uint8_t>(context_.device);
  SendSequence& stream = engine.order()->sends(peer, device);
  auto* const turn = detail::enter(stream.bias, stream.lock, caller.exclusive);
  if (turn == nullptr) return Status::retry(Reason::lock_contended);
  Status status = Status::retry(Reason::backlog);
  if (caller.again || stream.kept.load(std::memory_order_relaxed) == 0) {
    const MatchTrailer trailer{engine.id(),
                               policy_and_class(MatchingPolicy::rank_and_tag, options.message_class), device,
                               stream.next};
    status = send_silently(peer, tag, payload, trailer, options, packet, caller);
  }
  if (!status.is_retry()) {
    ++stream.next;
    if (caller.again) stream.kept.fetch_sub(1, std::memory_order_relaxed);
  }
  detail::leave(turn, caller.exclusive);
  if (!status.is_done() || options.completion == nullptr) return status;
  return ended(context_.port->has_left(peer), peer, tag, payload.bytes, options);
}

/// As attempt_send(), but the caller signals the completion object when the message was sent.
Status MatchedMessages::send_silently(int peer, std::uint64_t tag, const SendPayload& payload,
                                      const MatchTrailer& trailer, const SendOptions& options, Packet* packet,
                                      Caller caller) noexcept {
  if (goes_at_once(peer, payload.size())) {
    SendOptions silent = options;
    silent.completion = nullptr;
    if (take_credit(peer, options, caller.exclusive)) [[likely]] {
      const Status status = send_at_once(peer, tag, payload, trailer, silent, packet, caller);
      if (status.is_retry()) credits_of(options).undo(1, peer, options.device);
      return status;
    }
    if (context_.port->has_left(peer)) return sent(SendResult::peer_left, peer, tag, payload.bytes, silent);
    if (!credits_of(options).has_waited_too_long(peer, options.device))
      return Status::retry(Reason::no_credit);
    if (take_credit_of_others(peer, options, caller.exclusive)) {
      const Status status = send_at_once(peer, tag, payload, trailer, silent, packet, caller);
      if (status.is_retry()) credits_of(options).undo(1, peer, options.device);
      return status;
    }
    if (options.completion == nullptr || packet != nullptr) return Status::retry(Reason::no_credit);
  }
  SendResult result = SendResult::sent;
  const Status status = start_large(peer, tag, payload, trailer, options, caller, result);
  if (result == SendResult::peer_left)
    context_.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
  return status;
}

// Receiving.

Status MatchedMessages::attempt_ordered_receive(MatchingEngine& engine, int source, std::uint64_t tag,
                                                std::span<std::byte> buffer, const ReceiveOptions& options,
                                                Caller caller) noexcept {
  OrderedMatching& order = *engine.order();
  if (!caller.again && order.queued_receives().load(std::memory_order_relaxed) != 0) [[unlikely]]
    return Status::retry(Reason::backlog);
  const OrderedMatching::Hold hold = order.enter();
  const auto [answer, record] = order.post(
      OrderedMatching::key_of(source, tag, options.tag_mask),
      [&] { return take_posted(engine, buffer, options); }, options.tag_mask);
  order.leave(hold);
  if (answer == Table::Answer::exhausted) return Status::retry(Reason::no_request);
  if (caller.again) order.queued_receives().fetch_sub(1, std::memory_order_relaxed);
  return answer == Table::Answer::matched ? receive_probed(engine, *record, buffer, options)
                                          : Status::posted();
}

// Arriving.

/// Completes the receives that match messages that were held.
void MatchedMessages::receive_held(MatchingEngine& engine, MatchRecord* first) noexcept {
  for (MatchRecord* receive = first; receive != nullptr;) {
    MatchRecord* const next = receive->next;
    static_cast<void>(receive_probed(engine, *receive, receive->buffer,
                                     {.completion = receive->completion, .user_data = receive->user_data}));
    receive = next;
  }
}

bool MatchedMessages::on_ordered_send(MatchingEngine& engine, std::uint64_t tag, Message& arrival,
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
      detail::MessageAccess::set_receive(message, peer, context_.device);
      complete(engine, *result.record, message, tag, arrival.bytes().first(arrival.size() - sizeof trailer),
               &arrival);
      consume(ledger, peer, trailer.device, 1, exclusive_.load(std::memory_order_relaxed));
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

bool MatchedMessages::announce_in_order(MatchingEngine& engine, const MatchTrailer& trailer,
                                        Unexpected& stored, network::Sink& sink) noexcept {
  const int peer = stored.peer;
  const Arrival result =
      engine.order()->arrive(peer, trailer.device, trailer.order, stored.tag, [&]() -> MatchRecord* {
        MatchRecord* kept = engine.records().take();
        if (kept != nullptr) MatchingEngine::set_unexpected(*kept, stored);
        return kept;
      });
  switch (result.answer) {
    case Arrival::Answer::matched:
      result.record->unexpected = &stored;
      fetch(engine, *result.record);
      break;
    case Arrival::Answer::kept:
      break;
    case Arrival::Answer::later:
      engine.unexpected().release(stored);
      return false;
    case Arrival::Answer::rejected:
      engine.unexpected().release(stored);
      sink.reject(peer, "RTS to an ordered engine with a number that was used before", trailer.order);
      return true;
  }
  receive_held(engine, result.due);
  return true;
}

}  // namespace weft::core
