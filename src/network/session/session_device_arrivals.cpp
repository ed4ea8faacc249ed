// Messages that have come: checked, and sorted into the lanes of their links or answered at once.
#include "network/session/session_device.hpp"

#include <cstring>

namespace weft::network::session {

void SessionDevice::accept(ReceivedMessage& message) noexcept {
  Header header{};
  if (message.size >= sizeof header) std::memcpy(&header, message.bytes, sizeof header);
  if (!keeps(message, header)) buffers_.release(message);
}

/// Returns true when the message waits for its delivery; the caller releases any other message.
bool SessionDevice::keeps(ReceivedMessage& message, const Header& header) noexcept {
  const auto peers = static_cast<std::uint32_t>(shared_.peers.size());
  const int rank = header.rank < peers ? static_cast<int>(header.rank) : shared_.peers.rank();
  if (message.size < sizeof header || header.rank >= peers) {
    reject(rank, "message of no rank", header.rank);
    return false;
  }
  const Bytes payload(message.bytes + sizeof header, message.size - sizeof header);
  if (header.kind == Kind::hello) {
    on_hello(header, payload);
    return false;
  }
  Link* link = find(rank, header.device);
  if (link == nullptr || !link->hello_heard) {
    reject(rank, "message of a device that has not said hello", header.device);
    return false;
  }
  switch (header.kind) {
    case Kind::data:
    case Kind::control:
    case Kind::urgent:
    case Kind::bulk:
    case Kind::rendezvous_data: {
      Lane& lane = link->lane(traffic_of(header.kind));
      if (lane.received - lane.told.load(std::memory_order_relaxed) >= lane.grants) {
        reject(rank, "message beyond its credit", lane.received);
        return false;
      }
      ++lane.received;
      idle_drives_ = 0;
      message.messages = 1;
      message.next_record = 0;
      if ((header.flags & kIsFrame) != 0) {
        message.messages = messages_in_frame(payload);
        message.next_record = sizeof header;
        if (message.messages == 0) {
          reject(rank, "frame of a wrong form", payload.size());
          return false;
        }
      }
      message.link = link;
      lane.arrived.put(message);
      // Pairs with the acquires of deliver() and poll().
      lane.pending.fetch_add(1, std::memory_order_release);
      pending_.fetch_add(1, std::memory_order_release);
      if (lane.is_urgent) pending_urgent_.fetch_add(1, std::memory_order_release);
      return true;
    }
    case Kind::credit:
      on_credit(*link, payload);
      return false;
    case Kind::ask:
      on_ask(*link, payload);
      return false;
    case Kind::handles:
      on_handles(*link, payload);
      return false;
    case Kind::goodbye:
      shared_.peers.mark_left(rank, "");
      return false;
    case Kind::hello:
      break;
  }
  reject(rank, "message of an unknown kind", static_cast<std::uint64_t>(header.kind));
  return false;
}

void SessionDevice::reject(int rank, const char* what, std::uint64_t value) noexcept {
  constexpr std::size_t kKept = 64;  // rejections kept between two polls; more would tell nothing new
  if (rejections_.size() >= kKept) return;
  rejections_.push_back({rank, what, value});
  has_rejections_.store(true, std::memory_order_relaxed);
}

}  // namespace weft::network::session
