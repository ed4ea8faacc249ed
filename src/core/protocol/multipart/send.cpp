// The sender's half of multipart messages.
#include "core/protocol/message_class.hpp"
#include "core/protocol/multipart/multipart.hpp"
#include "core/protocol/to_status.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::core {

using network::Outgoing;
using network::SendResult;

namespace {

constexpr std::size_t kStackAnnouncement = 512;  // RTS messages up to this size are assembled on the stack

[[nodiscard]] std::size_t front_size_of(const MultipartMessages::Outbound& outbound) noexcept {
  return outbound.parts.size() * sizeof(PartEntry) + outbound.head.size();
}

/// Writes the front. `copy` holds all parts, one behind the other; nullptr: they lie in the poster's buffers.
void write_front(std::byte* to, const MultipartMessages::Outbound& outbound, const std::byte* copy) noexcept {
  for (const Bytes& part : outbound.parts) {
    const PartEntry entry{reinterpret_cast<std::uint64_t>(copy != nullptr ? copy : part.data()), part.size()};
    if (copy != nullptr) copy += part.size();
    std::memcpy(to, &entry, sizeof entry);
    to += sizeof entry;
  }
  if (!outbound.head.empty()) std::memcpy(to, outbound.head.data(), outbound.head.size());
}

}  // namespace

/// Sends the RTS. Returns retry, or done when it was sent or when the peer has left (`has_left`).
Status MultipartMessages::announce(const Outbound& outbound, const MultipartRts& rts, const std::byte* copy,
                                   Caller caller, bool& has_left) noexcept {
  const Outgoing outgoing{outbound.peer,
                          outbound.remote.device(),
                          traffic_of(outbound.options.message_class),
                          static_cast<std::uint8_t>(Channel::multipart_rts),
                          true,
                          detail::handle_word(outbound.remote, outbound.options.tag)};
  const std::size_t size = sizeof rts + (rts.has_front != 0 ? front_size_of(outbound) : std::size_t{0});
  const std::size_t inline_limit =
      std::clamp(context_.limits.inline_bytes, network::kSmallestSend, kStackAnnouncement);
  SendResult result;
  if (size <= inline_limit) {
    std::array<std::byte, kStackAnnouncement> content;
    std::memcpy(content.data(), &rts, sizeof rts);
    if (rts.has_front != 0) write_front(content.data() + sizeof rts, outbound, copy);
    result = context_.port->send(outgoing, {content.data(), size}, caller);
  } else {
    Packet packet = context_.pool.get_for(outbound.options.message_class);
    if (!packet) return Status::retry(Reason::no_packet);
    std::memcpy(packet.data(), &rts, sizeof rts);
    write_front(packet.data() + sizeof rts, outbound, copy);
    result = context_.port->send_packet(outgoing, packet.index(), size, caller);
    if (result == SendResult::sent) packet.release();
  }
  has_left = result == SendResult::peer_left;
  return to_status(result);
}

Rendezvous::Start MultipartMessages::start(const Outbound& outbound, Caller caller, Status& refused,
                                           bool& has_left) noexcept {
  using Start = Rendezvous::Start;
  const ActiveMessageOptions& options = outbound.options;
  const std::uint32_t parts = rendezvous_.sender().reserve({outbound.peer,
                                                            outbound.remote.device(),
                                                            Channel::multipart_rts,
                                                            0,
                                                            nullptr,
                                                            {},
                                                            Operation::active_message_sent,
                                                            options.tag,
                                                            options.completion,
                                                            options.user_data,
                                                            options.message_class,
                                                            {},
                                                            outbound.parts,
                                                            outbound.parts_size});
  if (parts == RendezvousSender::kNoRequest) return Start::no_request;
  const std::byte* const copy = rendezvous_.sender().copy_of_request(parts);
  MultipartRts rts{.parts = rendezvous_.sender().name_of_request(parts),
                   .front = {},
                   .front_address = 0,
                   .count = outbound.parts.size(),
                   .head_size = outbound.head.size(),
                   .device = context_.device,
                   .has_front = 1};
  std::uint32_t front = RendezvousSender::kNoRequest;
  if (const std::size_t size = front_size_of(outbound); size + sizeof rts > context_.limits.packet_bytes) {
    std::byte* staged = nullptr;
    front = rendezvous_.sender().reserve_staged(outbound.peer, size, staged);
    if (front == RendezvousSender::kNoRequest)
      return rendezvous_.sender().abandon(parts) ? Start::no_request : Start::started;
    write_front(staged, outbound, copy);
    rts.front = rendezvous_.sender().name_of_request(front);
    rts.front_address = reinterpret_cast<std::uint64_t>(staged);
    rts.has_front = 0;
  }
  has_left = false;
  refused = announce(outbound, rts, copy, caller, has_left);
  if (!refused.is_retry() && !has_left) return Start::started;
  if (front != RendezvousSender::kNoRequest) static_cast<void>(rendezvous_.sender().abandon(front));
  // Another thread may have ended the request meanwhile because the peer has left: then it was signalled.
  return rendezvous_.sender().abandon(parts) ? Start::refused : Start::started;
}

}  // namespace weft::core
