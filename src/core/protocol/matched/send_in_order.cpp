// Sends to ordered engines: each takes the next number of its stream.
#include "core/protocol/matched/matched_sender.hpp"
#include "core/protocol/message_class.hpp"
#include "core/protocol/to_status.hpp"

namespace weft::core {

using network::SendResult;

Status MatchedSender::attempt_ordered(MatchingEngine& engine, int peer, std::uint64_t tag,
                                      const SendPayload& payload, const SendOptions& options, Packet* packet,
                                      Caller caller) noexcept {
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

/// As attempt(), but the caller signals the completion object when the message was sent.
Status MatchedSender::send_silently(int peer, std::uint64_t tag, const SendPayload& payload,
                                    const MatchTrailer& trailer, const SendOptions& options, Packet* packet,
                                    Caller caller) noexcept {
  if (!options.synchronous && goes_at_once(peer, payload.size())) {
    SendOptions silent = options;
    silent.completion = nullptr;
    if (credits_.take(peer, options, caller)) [[likely]] {
      const Status status = send_at_once(peer, tag, payload, trailer, silent, packet, caller);
      if (status.is_retry()) credits_.of(options).undo(1, peer, options.device);
      return status;
    }
    if (context_.port->has_left(peer)) return sent(SendResult::peer_left, peer, tag, payload.bytes, silent);
    if (!credits_.of(options).has_waited_too_long(peer, options.device))
      return Status::retry(Reason::no_credit);
    if (credits_.take_of_others(peer, options, caller)) {
      const Status status = send_at_once(peer, tag, payload, trailer, silent, packet, caller);
      if (status.is_retry()) credits_.of(options).undo(1, peer, options.device);
      return status;
    }
    if (options.completion == nullptr || packet != nullptr) return Status::retry(Reason::no_credit);
  }
  SendResult result = SendResult::sent;
  const Status status = start_large(peer, tag, payload, trailer, options, packet, caller, result);
  if (result == SendResult::peer_left)
    context_.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
  return status;
}

}  // namespace weft::core
