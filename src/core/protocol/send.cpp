// Posting sends.
#include "core/protocol/send_receive.hpp"

#include "core/protocol/refusal.hpp"
#include "core/protocol/select.hpp"

#include <weft/detail/message_access.hpp>

#include <array>
#include <cstring>

namespace weft::core {

using network::Outgoing;
using network::SendResult;
using network::TrafficClass;

namespace {

constexpr std::uint32_t kLaneShare = 32;
constexpr std::size_t kLargestInline = 2048;  // the attribute inline_max allows no more

Outgoing matched_message(int peer, std::uint64_t tag, std::uint8_t device, bool keeps_room) noexcept {
  return {peer, device, TrafficClass::data, static_cast<std::uint8_t>(Channel::send), false, tag, keeps_room};
}

}  // namespace

Status SendReceive::attempt_send(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options,
                                 Packet* packet, bool keeps_room, bool exclusive) noexcept {
  const MatchTrailer trailer{options.engine, static_cast<std::uint8_t>(options.policy),
                             static_cast<std::uint8_t>(context_.device), 0};
  if (select(bytes.size(), context_.limits) == Protocol::rendezvous)
    return announce(peer, tag, bytes, trailer, options, exclusive);
  if (!take_credit(peer, options.device, exclusive)) [[unlikely]] {
    // A peer that has left returns no credit.
    if (context_.port->gone(peer)) return sent(SendResult::peer_gone, peer, tag, bytes, options);
    // The peer keeps no more of our messages. It may only be busy: a handshake costs it more than the
    // message. But when no credit comes back it may wait for this very message, which it can fetch then, if
    // somebody can be told when the buffer is free.
    if (options.completion == nullptr || packet != nullptr ||
        !credits_.is_out_of_patience(peer, options.device))
      return Status::retry(Reason::no_credit);
    return announce(peer, tag, bytes, trailer, options, exclusive);
  }
  const Status status = send_at_once(peer, tag, bytes, trailer, options, packet, keeps_room, exclusive);
  if (status.is_retry()) [[unlikely]]
    credits_.undo(1, peer, options.device);
  return status;
}

/// From the lane's share, which inlined posts use; beside that, fills the share up.
bool SendReceive::take_credit(int peer, std::uint8_t device, bool exclusive) noexcept {
  detail::SendLane* lane = path_.lane(peer, device);
  auto* const hold = lane == nullptr ? nullptr : detail::enter(lane->bias, lane->lock, exclusive);
  if (hold == nullptr) return credits_.take_up_to(1, peer, device) != 0;
  if (lane->credits == 0) lane->credits = credits_.take_up_to(kLaneShare, peer, device);
  const bool has_credit = lane->credits != 0;
  if (has_credit) --lane->credits;
  detail::leave(hold, exclusive);
  return has_credit;
}

Status SendReceive::send_at_once(int peer, std::uint64_t tag, Bytes bytes, const MatchTrailer& trailer,
                                 const SendOptions& options, Packet* packet, bool keeps_room,
                                 bool exclusive) noexcept {
  const std::size_t size = bytes.size();
  const Outgoing outgoing = matched_message(peer, tag, options.device, keeps_room);
  const std::size_t whole = size + sizeof trailer;
  const std::size_t inline_limit = context_.limits.inline_bytes < network::kSmallestSend
                                       ? network::kSmallestSend
                                       : context_.limits.inline_bytes;
  SendResult result;
  if (whole <= inline_limit && whole <= kLargestInline) {
    std::array<std::byte, kLargestInline> content;
    if (size != 0) std::memcpy(content.data(), bytes.data(), size);
    std::memcpy(content.data() + size, &trailer, sizeof trailer);
    result = context_.port->send(outgoing, {content.data(), whole}, exclusive);
  } else {
    Packet own;
    if (packet == nullptr) {
      own = context_.pool.get();
      if (!own) return Status::retry(Reason::no_packet);
      std::memcpy(own.data(), bytes.data(), size);
      packet = &own;
    }
    std::memcpy(packet->data() + size, &trailer, sizeof trailer);
    result = context_.port->send_packet(outgoing, packet->index(), whole, exclusive);
    if (result == SendResult::sent) packet->release();
  }
  const Status status = refusal(result);
  return status.is_retry() ? status : sent(result, peer, tag, bytes, options);
}

Status SendReceive::announce(int peer, std::uint64_t tag, Bytes bytes, const MatchTrailer& trailer,
                             const SendOptions& options, bool exclusive) noexcept {
  SendResult result = SendResult::sent;
  const Status status = start_large(peer, tag, bytes, trailer, options, exclusive, result);
  return status.is_done() ? sent(result, peer, tag, bytes, options) : status;
}

/// posted when it has started, done when the peer has left (`result`); its completion object is not signalled
/// then.
Status SendReceive::start_large(int peer, std::uint64_t tag, Bytes bytes, const MatchTrailer& trailer,
                                const SendOptions& options, bool exclusive, SendResult& result) noexcept {
  const LargeMessages::Outbound outbound{
      peer, options.device,     Channel::large_send, tag, &trailer, bytes, Operation::send,
      tag,  options.completion, options.user_data};
  switch (large_messages_.start(outbound, exclusive, result)) {
    case LargeMessages::Start::started:
      return Status::posted();
    case LargeMessages::Start::no_request:
      return Status::retry(Reason::no_request);
    case LargeMessages::Start::refused:
      break;
  }
  return refusal(result);
}

Status SendReceive::sent(SendResult result, int peer, std::uint64_t tag, Bytes bytes,
                         const SendOptions& options) noexcept {
  const bool lost = result == SendResult::peer_gone;
  if (lost) context_.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
  if (options.completion == nullptr) [[likely]]
    return Status::done();
  return ended(lost, peer, tag, bytes, options);
}

Status SendReceive::ended(bool lost, int peer, std::uint64_t tag, Bytes bytes,
                          const SendOptions& options) noexcept {
  if (options.completion == nullptr || (options.may_complete_now && !lost)) return Status::done();
  Message message;
  detail::MessageAccess::set_view(message, Operation::send, peer, tag, bytes.data(), bytes.size(), nullptr,
                                  0);
  detail::MessageAccess::set_user_data(message, options.user_data);
  if (lost) detail::MessageAccess::set_outcome(message, Outcome::peer_failed);
  options.completion->signal(message);
  return Status::posted();
}

void SendReceive::on_credit(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept {
  const auto device = static_cast<std::uint8_t>(word >> 32);
  if (word >> 40 != 0 || !credits_.give(arrival.peer(), device, static_cast<std::uint32_t>(word)))
    sink.reject(arrival.peer(), "more credits than were taken", word);
}

}  // namespace weft::core
