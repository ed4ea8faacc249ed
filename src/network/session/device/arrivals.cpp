#include "network/session/device/arrivals.hpp"

#include <cstring>

namespace weft::network::session {

void Arrivals::accept(ReceivedMessage& message) noexcept {
  Header header{};
  if (message.size >= sizeof header) std::memcpy(&header, message.bytes, sizeof header);
  if (!keeps(message, header)) context_.buffers.release(message);
}

bool Arrivals::keeps(ReceivedMessage& message, const Header& header) noexcept {
  const auto peers = static_cast<std::uint32_t>(context_.shared.peers.size());
  const int rank = header.rank < peers ? static_cast<int>(header.rank) : context_.shared.peers.rank();
  if (message.size < sizeof header || header.rank >= peers) {
    context_.reject(rank, "message of no rank", header.rank);
    return false;
  }
  const Bytes payload(message.bytes + sizeof header, message.size - sizeof header);
  if (header.kind == Kind::hello) {
    contacts_.on_hello(header, payload);
    return false;
  }
  Link* link = links_.find(rank, header.device);
  if (link == nullptr || !link->hello_heard) {
    context_.reject(rank, "message of a device that has not said hello", header.device);
    return false;
  }
  switch (header.kind) {
    case Kind::data:
    case Kind::control:
    case Kind::urgent:
    case Kind::bulk:
    case Kind::rendezvous_data: {
      Lane& lane = link->lane(traffic_of(header.kind));
      if (lane.received - lane.taken.reported() >= lane.grants) {
        context_.reject(rank, "message beyond its credit", lane.received);
        return false;
      }
      ++lane.received;
      credits_.end_idle();
      message.messages = 1;
      message.next_record = 0;
      if ((header.flags & kIsFrame) != 0) {
        message.messages = messages_in_frame(payload);
        message.next_record = sizeof header;
        if (message.messages == 0) {
          context_.reject(rank, "frame of a wrong form", payload.size());
          return false;
        }
      }
      message.link = link;
      delivery_.arrived(lane, message);
      return true;
    }
    case Kind::credit:
      credits_.on_credit(*link, payload);
      return false;
    case Kind::ask:
      credits_.on_ask(*link, payload);
      return false;
    case Kind::handles:
      contacts_.on_handles(*link, payload);
      return false;
    case Kind::goodbye:
      context_.shared.peers.mark_left(rank, "");
      return false;
    case Kind::hello:
      break;
  }
  context_.reject(rank, "message of an unknown kind", static_cast<std::uint64_t>(header.kind));
  return false;
}

}  // namespace weft::network::session
