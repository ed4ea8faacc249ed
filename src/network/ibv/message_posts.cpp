// Messages to peers: inlined in the work request, copied into a room, or sent from a packet.
#include "network/ibv/ibv_endpoint.hpp"

#include <cassert>
#include <cstring>
#include <utility>

namespace weft::network::ibv {

using session::Kind;
using session::Sent;

namespace {

constexpr std::size_t kKeptFromBulk = 64;  // rooms that bulk messages leave to other classes

}  // namespace

bool IbvEndpoint::has_room_for_bulk() const noexcept {
  return rooms_.free_count() > kKeptFromBulk && posting_.has_room_for_bulk();
}

void IbvEndpoint::end(Work& work) noexcept {
  if (work.kind == Work::Kind::region_access) region_accesses_.end(work.token);
  if (work.kind == Work::Kind::packet) context_.packets.release(work.packet);
  if (work.room != nullptr) (work.kind == Work::Kind::frame ? frames_ : rooms_).give_back(work.room);
}

Sent IbvEndpoint::post_send(Connection& connection, std::span<ibv_sge> pieces, unsigned flags,
                            Work work) noexcept {
  ibv_send_wr request{};
  request.sg_list = pieces.data();
  request.num_sge = static_cast<int>(pieces.size());
  request.opcode = IBV_WR_SEND;
  request.send_flags = flags;
  return posting_.post(connection, request, std::move(work));
}

Sent IbvEndpoint::send_copy(Connection& connection, const session::Header& header, Bytes payload) noexcept {
  assert(sizeof header + payload.size() <= rooms_.bytes());
  std::byte* const room = rooms_.take();
  if (room == nullptr) return Sent::later;
  std::memcpy(room, &header, sizeof header);
  if (!payload.empty()) std::memcpy(room + sizeof header, payload.data(), payload.size());
  ibv_sge piece = piece_of(room, sizeof header + payload.size(), rooms_.key());
  const auto kind = header.kind == Kind::goodbye ? Work::Kind::goodbye : Work::Kind::copied;
  const Sent sent = post_send(connection, {&piece, 1}, 0, {.kind = kind, .room = room});
  if (sent != Sent::yes) rooms_.give_back(room);
  return sent;
}

Sent IbvEndpoint::transmit(session::Link& link, const session::Header& header, Bytes payload) noexcept {
  Connection& connection = connections_.of(link);
  // A goodbye must have left before this rank ends: it is sent with a completion.
  if (sizeof header + payload.size() > connection.inline_bytes || header.kind == Kind::goodbye)
    return send_copy(connection, header, payload);
  ibv_sge pieces[] = {piece_of(&header, sizeof header, 0), piece_of(payload.data(), payload.size(), 0)};
  return post_send(connection, std::span(pieces).first(payload.empty() ? 1 : 2), IBV_SEND_INLINE, {});
}

Sent IbvEndpoint::transmit_packet(session::Link& link, const session::Header& header, std::uint32_t packet,
                                  std::size_t size) noexcept {
  Connection& connection = connections_.of(link);
  std::byte* const payload = context_.packets.payload(packet);
  Work work{.kind = Work::Kind::packet, .packet = packet};
  // A packet of this network has room for the header in front; others are not written into.
  std::byte* head = payload - sizeof header;
  if (context_.packets.is_foreign()) {
    head = rooms_.take();
    if (head == nullptr) return Sent::later;
    work.room = head;
  }
  std::memcpy(head, &header, sizeof header);
  const std::uint32_t key = context_.packets.key();
  ibv_sge whole = piece_of(head, sizeof header + size, key);
  ibv_sge parts[] = {piece_of(head, sizeof header, rooms_.key()), piece_of(payload, size, key)};
  const std::span<ibv_sge> pieces =
      work.room == nullptr ? std::span(&whole, 1) : std::span(parts).first(size == 0 ? 1 : 2);
  std::byte* const room = work.room;
  const Sent sent = post_send(connection, pieces, 0, std::move(work));
  if (sent != Sent::yes && room != nullptr) rooms_.give_back(room);
  return sent;
}

Sent IbvEndpoint::transmit_frame(session::Link& link, std::byte* frame, std::size_t begin,
                                 std::size_t size) noexcept {
  Connection& connection = connections_.of(link);
  ibv_sge piece = piece_of(frame + begin, size, frames_.key());
  const bool is_inlined = size <= connection.inline_bytes;
  const Sent sent = is_inlined
                        ? post_send(connection, {&piece, 1}, IBV_SEND_INLINE, {})
                        : post_send(connection, {&piece, 1}, 0, {.kind = Work::Kind::frame, .room = frame});
  if (sent == Sent::never || (sent == Sent::yes && is_inlined)) frames_.give_back(frame);
  return sent;
}

}  // namespace weft::network::ibv
