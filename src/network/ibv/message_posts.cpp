// Messages to peers: inlined in the work request, copied into a room, or sent from a packet.
#include "network/ibv/ibv_endpoint.hpp"
#include "network/ibv/memory/work_id.hpp"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::network::ibv {

using session::Kind;
using session::Sent;

namespace {

constexpr std::size_t kKeptFromBulk = 64;  // rooms that bulk messages leave to other classes

}  // namespace

/// More than half of the completion queue's places: below that, all that is under way may be without a
/// completion to come.
bool IbvEndpoint::has_room_for_bulk() const noexcept {
  return rooms_.free_count() > kKeptFromBulk && under_way_ < most_sends_ / 4 * 3;
}

void IbvEndpoint::end(Work& work) noexcept {
  if (work.kind == Work::Kind::packet) context_.packets.release(work.packet);
  if (work.room != nullptr) (work.kind == Work::Kind::frame ? frames_ : rooms_).give_back(work.room);
}

void IbvEndpoint::lose(Connection& connection, const std::string& why) noexcept {
  connection.is_closed = true;
  context_.peers.mark_left(connection.rank, why);
}

/// What needs its memory again is signalled, and so is every one once the completion queue is half used.
Sent IbvEndpoint::post(Connection& connection, ibv_send_wr& request, Work work) noexcept {
  SendQueue& sends = connection.sends;
  if (connection.is_closed) {
    lose(connection, "");
    return Sent::never;
  }
  if (!may_post(connection)) return Sent::later;
  const bool is_signalled =
      work.kind != Work::Kind::inlined || sends.is_signal_due() || under_way_ >= most_sends_ / 2;
  request.wr_id = id_of_send(connection.index, sends.position());
  if (is_signalled) request.send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* refused = nullptr;
  const int result = ::ibv_post_send(connection.queue_pair.get(), &request, &refused);
  if (result == ENOMEM || result == EAGAIN) return Sent::later;
  if (result != 0) {
    lose(connection, "a message cannot be sent: " + error_text(result));
    return Sent::never;
  }
  ++under_way_;
  sends.add(std::move(work), is_signalled);
  return Sent::yes;
}

Sent IbvEndpoint::post_send(Connection& connection, std::span<ibv_sge> pieces, unsigned flags,
                            Work work) noexcept {
  ibv_send_wr request{};
  request.sg_list = pieces.data();
  request.num_sge = static_cast<int>(pieces.size());
  request.opcode = IBV_WR_SEND;
  request.send_flags = flags;
  return post(connection, request, std::move(work));
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
