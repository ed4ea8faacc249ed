// The sender's half of messages with bodies.
#include "core/protocol/refusal.hpp"
#include "core/protocol/traffic.hpp"
#include "core/protocol/vectored_message.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::core {

using network::Outgoing;
using network::SendResult;

namespace {

constexpr std::size_t kStackMessage = 512;  // announcements up to here are put together on the stack

[[nodiscard]] std::size_t front_size_of(const VectoredMessages::Outbound& outbound) noexcept {
  return outbound.bodies.size() * sizeof(BodyEntry) + outbound.head.size();
}

void write_front(std::byte* to, const VectoredMessages::Outbound& outbound) noexcept {
  for (const Bytes& body : outbound.bodies) {
    const BodyEntry entry{reinterpret_cast<std::uint64_t>(body.data()), body.size()};
    std::memcpy(to, &entry, sizeof entry);
    to += sizeof entry;
  }
  if (!outbound.head.empty()) std::memcpy(to, outbound.head.data(), outbound.head.size());
}

}  // namespace

/// retry, or done: it has left, or nobody is there any more (`is_gone`).
Status VectoredMessages::announce(const Outbound& outbound, const VectoredMessage& announcement,
                                  bool exclusive, bool& is_gone) noexcept {
  const Outgoing outgoing{outbound.peer,
                          outbound.remote.device(),
                          traffic_of(outbound.options.message_class),
                          static_cast<std::uint8_t>(Channel::vectored_message),
                          true,
                          detail::handle_word(outbound.remote, outbound.options.tag)};
  const std::size_t size =
      sizeof announcement + (announcement.has_front != 0 ? front_size_of(outbound) : std::size_t{0});
  const std::size_t inline_limit =
      std::clamp(context_.limits.inline_bytes, network::kSmallestSend, kStackMessage);
  SendResult result;
  if (size <= inline_limit) {
    std::array<std::byte, kStackMessage> content;
    std::memcpy(content.data(), &announcement, sizeof announcement);
    if (announcement.has_front != 0) write_front(content.data() + sizeof announcement, outbound);
    result = context_.port->send(outgoing, {content.data(), size}, exclusive);
  } else {
    Packet packet = context_.pool.get_for(outbound.options.message_class);
    if (!packet) return Status::retry(Reason::no_packet);
    std::memcpy(packet.data(), &announcement, sizeof announcement);
    write_front(packet.data() + sizeof announcement, outbound);
    result = context_.port->send_packet(outgoing, packet.index(), size, exclusive);
    if (result == SendResult::sent) packet.release();
  }
  is_gone = result == SendResult::peer_gone;
  return refusal(result);
}

LargeMessages::Start VectoredMessages::start(const Outbound& outbound, bool exclusive, Status& refused,
                                             bool& is_gone) noexcept {
  using Start = LargeMessages::Start;
  const ActiveMessageOptions& options = outbound.options;
  const std::uint32_t bodies = large_messages_.reserve({outbound.peer,
                                                        outbound.remote.device(),
                                                        Channel::vectored_message,
                                                        0,
                                                        nullptr,
                                                        {},
                                                        Operation::active_message_sent,
                                                        options.tag,
                                                        options.completion,
                                                        options.user_data,
                                                        options.message_class,
                                                        outbound.bodies,
                                                        outbound.bodies_size});
  if (bodies == LargeMessages::kNoRequest) return Start::no_request;
  VectoredMessage announcement{.bodies = large_messages_.name_of_request(bodies),
                               .front = {},
                               .front_address = 0,
                               .count = outbound.bodies.size(),
                               .head_size = outbound.head.size(),
                               .device = context_.device,
                               .has_front = 1};
  std::uint32_t front = LargeMessages::kNoRequest;
  if (const std::size_t size = front_size_of(outbound);
      size + sizeof announcement > context_.limits.packet_bytes) {
    std::byte* staged = nullptr;
    front = large_messages_.reserve_staged(outbound.peer, size, staged);
    if (front == LargeMessages::kNoRequest)
      return large_messages_.abandon(bodies) ? Start::no_request : Start::started;
    write_front(staged, outbound);
    announcement.front = large_messages_.name_of_request(front);
    announcement.front_address = reinterpret_cast<std::uint64_t>(staged);
    announcement.has_front = 0;
  }
  is_gone = false;
  refused = announce(outbound, announcement, exclusive, is_gone);
  if (!refused.is_retry() && !is_gone) return Start::started;
  if (front != LargeMessages::kNoRequest) static_cast<void>(large_messages_.abandon(front));
  // Another thread may have ended it meanwhile because the peer is gone: then it is over, and was signalled.
  return large_messages_.abandon(bodies) ? Start::refused : Start::started;
}

}  // namespace weft::core
