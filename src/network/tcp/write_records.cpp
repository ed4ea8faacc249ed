// Sending: a gather write at once, and what the socket does not take later.
#include "network/tcp/tcp_endpoint.hpp"

#include <cstring>

namespace weft::network::tcp {

using session::Sent;

namespace {

/// What belongs to the network itself is urgent, but for the goodbye, which is the last.
Queue queue_of(session::Kind kind) noexcept {
  switch (kind) {
    case session::Kind::data:
      return Queue::normal;
    case session::Kind::bulk:
    case session::Kind::rendezvous_data:
    case session::Kind::goodbye:
      return Queue::bulk;
    default:
      return Queue::urgent;
  }
}

}  // namespace

/// Notes what is left to be written. Returns false when the record has not been taken.
bool TcpEndpoint::note(Connection& connection, Output::Result result) noexcept {
  if (result == Output::Result::failed) {
    if (!connection.is_broken) broken_.push_back(&connection);
    connection.is_broken = true;
    return false;
  }
  if (!connection.output.is_empty()) writes_.add(connection);
  return result == Output::Result::taken;
}

Sent TcpEndpoint::write(session::Link& link, session::Kind kind, Bytes header, Bytes payload) noexcept {
  Connection& connection = connected(link);
  if (connection.is_lost) return Sent::never;
  if (!connection.socket || connection.is_broken) return Sent::later;
  const Record record{static_cast<std::uint32_t>(header.size() + payload.size()), RecordKind::message, {}, 0};
  const auto result =
      connection.output.write(connection.socket.get(), queue_of(kind), record, header, payload);
  has_written_ = true;
  return note(connection, result) ? Sent::yes : Sent::later;
}

Sent TcpEndpoint::transmit(session::Link& link, const session::Header& header, Bytes payload) noexcept {
  return write(link, header.kind, bytes_of(header), payload);
}

Sent TcpEndpoint::transmit_packet(session::Link& link, const session::Header& header, std::uint32_t packet,
                                  std::size_t size) noexcept {
  const Sent sent = write(link, header.kind, bytes_of(header), {context_.packets.payload(packet), size});
  if (sent == Sent::yes) context_.packets.release(packet);
  return sent;
}

std::byte* TcpEndpoint::take_frame() noexcept {
  if (free_frames_.empty()) return nullptr;
  std::byte* const frame = free_frames_.back();
  free_frames_.pop_back();
  return frame;
}

Sent TcpEndpoint::transmit_frame(session::Link& link, std::byte* frame, std::size_t begin,
                                 std::size_t size) noexcept {
  session::Header header{};
  std::memcpy(&header, frame + begin, sizeof header);
  const Sent sent = write(link, header.kind, {}, {frame + begin, size});
  if (sent != Sent::later) free_frames_.push_back(frame);
  return sent;
}

}  // namespace weft::network::tcp
