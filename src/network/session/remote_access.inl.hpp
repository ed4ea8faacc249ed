// Fetches of memory that peers offer, gets and puts of their regions, puts into landings.
#pragma once

#include "network/session/session_device.hpp"

namespace weft::network::session {

template <class Begin>
AccessResult SessionDevice::access(int peer, std::uint8_t device, const Begin& begin) noexcept {
  if (context_.shared.peers.is_known_to_have_left(peer)) return AccessResult::peer_left;
  Link* link = links_.find(peer, device);
  // An RTS may have come from another device of the peer than the one that carries the payload.
  if (link == nullptr || !link->open.load(std::memory_order_acquire)) [[unlikely]] {
    const SendResult contacted = approach(peer, device);
    if (contacted == SendResult::lock_contended) return AccessResult::lock_contended;
    if (contacted == SendResult::peer_left) return AccessResult::peer_left;
    if (contacted != SendResult::sent) return AccessResult::not_ready;
    link = links_.find(peer, device);
  }
  Guard guard(lock_);
  if (!guard) return AccessResult::lock_contended;
  if (is_stopped()) return AccessResult::peer_left;
  if (accesses_.is_full()) return AccessResult::no_slot;
  const AccessResult result = begin(*transport_, *link);
  if (result == AccessResult::posted) accesses_.begun();
  return result;
}

}  // namespace weft::network::session
