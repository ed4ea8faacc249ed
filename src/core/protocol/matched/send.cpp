// Posting sends: inject, eager or rendezvous, by size and credit.
#include "core/protocol/matched/matched_sender.hpp"

#include "core/completion/signal_end.hpp"
#include "core/protocol/message_class.hpp"
#include "core/protocol/to_status.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::core {

using network::Outgoing;
using network::SendResult;

namespace {

constexpr std::size_t kLargestInline = 4096;  // the attribute inline_max allows no more

Outgoing matched_message(int peer, std::uint64_t tag, const SendOptions& options, Caller caller) noexcept {
  return {peer,
          options.device,
          traffic_of(options.message_class),
          static_cast<std::uint8_t>(Channel::send),
          false,
          tag,
          caller.reserves_room,
          options.engine >= kMatchingEngines};
}

}  // namespace

bool MatchedSender::goes_without_packet(int peer, std::size_t size) const noexcept {
  // Not their sum: with the trailer, a length of -1 would be a short one.
  const std::size_t most = std::max(context_.limits_to(peer).inline_bytes, network::kSmallestSend);
  return size <= std::min(most, kLargestInline) - sizeof(MatchTrailer);
}

Status MatchedSender::attempt(int peer, std::uint64_t tag, const SendPayload& payload,
                              const SendOptions& options, Packet* packet, Caller caller) noexcept {
  const MatchTrailer trailer{options.engine, policy_and_class(options.policy, options.message_class),
                             static_cast<std::uint8_t>(context_.device), 0};
  if (options.synchronous || !goes_at_once(peer, payload.size()))
    return announce(peer, tag, payload, trailer, options, packet, caller);
  if (!credits_.take(peer, options, caller)) [[unlikely]] {
    // A peer that has left returns no credit.
    if (context_.port->has_left(peer)) return sent(SendResult::peer_left, peer, tag, payload.bytes, options);
    // The peer stores no more unexpected messages of this rank, or other lanes have the credits. The peer may
    // only be busy: a handshake costs it more than the message. But when no credit comes back the peer may
    // wait for this very message. Then it can fetch the message by a rendezvous, if a completion object can
    // tell when the buffer is free.
    if (!credits_.of(options).has_waited_too_long(peer, options.device))
      return Status::retry(Reason::no_credit);
    if (!credits_.take_of_others(peer, options, caller)) {
      if (options.completion == nullptr || packet != nullptr) return Status::retry(Reason::no_credit);
      return announce(peer, tag, payload, trailer, options, nullptr, caller);
    }
  }
  const Status status = send_at_once(peer, tag, payload, trailer, options, packet, caller);
  if (status.is_retry()) [[unlikely]]
    credits_.of(options).undo(1, peer, options.device);
  return status;
}

namespace {

constexpr std::size_t kShort = 512;  // bytes; most messages, which shall do with a small stack

/// Out of line, so that its buffer leaves the stack before the end of the send is signalled, whose handler
/// may send. `Room`: at least the payload and the trailer.
template <std::size_t Room>
[[gnu::noinline]] SendResult send_in_slots(const ObservedPort& port, const Outgoing& outgoing,
                                           const SendPayload& payload, const MatchTrailer& trailer,
                                           Caller caller) noexcept {
  const std::size_t size = payload.size();
  std::array<std::byte, Room> content;
  payload.copy_to(content.data());
  std::memcpy(content.data() + size, &trailer, sizeof trailer);
  return port->send(outgoing, {content.data(), size + sizeof trailer}, caller);
}

}  // namespace

Status MatchedSender::send_at_once(int peer, std::uint64_t tag, const SendPayload& payload,
                                   const MatchTrailer& trailer, const SendOptions& options, Packet* packet,
                                   Caller caller) noexcept {
  const std::size_t size = payload.size();
  const Outgoing outgoing = matched_message(peer, tag, options, caller);
  const std::size_t whole = size + sizeof trailer;
  SendResult result;
  if (goes_without_packet(peer, size)) {
    result = whole <= kShort
                 ? send_in_slots<kShort>(context_.port, outgoing, payload, trailer, caller)
                 : send_in_slots<kLargestInline>(context_.port, outgoing, payload, trailer, caller);
  } else {
    Packet own;
    if (packet == nullptr) {
      own = context_.pool.get_for(options.message_class);
      if (!own) return Status::retry(Reason::no_packet);
      payload.copy_to(own.data());
      packet = &own;
    }
    std::memcpy(packet->data() + size, &trailer, sizeof trailer);
    result = context_.port->send_packet(outgoing, packet->index(), whole, caller);
    if (result == SendResult::sent) packet->release();
  }
  const Status status = to_status(result);
  return status.is_retry() ? status : sent(result, peer, tag, payload.bytes, options);
}

Status MatchedSender::announce(int peer, std::uint64_t tag, const SendPayload& payload,
                               const MatchTrailer& trailer, const SendOptions& options, Packet* packet,
                               Caller caller) noexcept {
  SendResult result = SendResult::sent;
  const Status status = start_large(peer, tag, payload, trailer, options, packet, caller, result);
  return status.is_done() ? sent(result, peer, tag, payload.bytes, options) : status;
}

/// Returns posted when the rendezvous has started, done when the peer has left (`result`); the completion
/// object is not signalled then.
Status MatchedSender::start_large(int peer, std::uint64_t tag, const SendPayload& payload,
                                  const MatchTrailer& trailer, const SendOptions& options, Packet* packet,
                                  Caller caller, SendResult& result) noexcept {
  const MatchingEngine* const engine = engines_.find_existing(options.engine);
  const Rendezvous::Outbound outbound{peer,
                                      options.device,
                                      Channel::send_rts,
                                      tag,
                                      &trailer,
                                      payload.bytes,
                                      Operation::send,
                                      tag,
                                      options.completion,
                                      options.user_data,
                                      options.message_class,
                                      name_of(options.region),
                                      payload.parts,
                                      payload.parts_size,
                                      engine != nullptr && engine->needed_ranks().may_need_ranks(),
                                      options.synchronous,
                                      packet};
  switch (rendezvous_.start(outbound, caller, result)) {
    case Rendezvous::Start::started:
      return Status::posted();
    case Rendezvous::Start::no_request:
      return Status::retry(Reason::no_request);
    case Rendezvous::Start::refused:
      break;
  }
  return to_status(result);
}

Status MatchedSender::sent(SendResult result, int peer, std::uint64_t tag, Bytes bytes,
                           const SendOptions& options) noexcept {
  const bool lost = result == SendResult::peer_left;
  if (lost) [[unlikely]] {
    context_.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
    context_.lose(peer, "send");
  }
  if (options.completion == nullptr) [[likely]]
    return Status::done();
  return ended(lost, peer, tag, bytes, options);
}

Status MatchedSender::ended(bool lost, int peer, std::uint64_t tag, Bytes bytes,
                            const SendOptions& options) noexcept {
  if (options.completion == nullptr || (options.may_complete_now && !lost)) return Status::done();
  return signal_end(context_.ends, Operation::send, peer, tag, bytes, *options.completion, options.user_data,
                    lost ? Outcome::peer_failed : Outcome::ok, context_.device);
}

}  // namespace weft::core
