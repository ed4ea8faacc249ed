// Fetches of memory that peers offer, gets and puts of their regions, and the end of a transport that may
// still have some under way.
#include "network/session/session_device.hpp"

#include <sched.h>

namespace weft::network::session {

template <class Begin>
AccessResult SessionDevice::begin_access(int peer, std::uint8_t device, bool exclusive,
                                         const Begin& begin) noexcept {
  if (context_.shared.peers.is_known_to_have_left(peer)) return AccessResult::peer_left;
  Link* link = links_.find(peer, device);
  // An RTS may have come from another device of the peer than the one that carries the payload.
  if (link == nullptr || !link->open.load(std::memory_order_acquire)) [[unlikely]] {
    const SendResult contacted = approach(peer, device, exclusive);
    if (contacted == SendResult::lock_contended) return AccessResult::lock_contended;
    if (contacted == SendResult::peer_left) return AccessResult::peer_left;
    if (contacted != SendResult::sent) return AccessResult::not_ready;
    link = links_.find(peer, device);
  }
  Guard guard(lock_, exclusive);
  if (!guard) return AccessResult::lock_contended;
  if (is_stopped()) return AccessResult::peer_left;
  if (accesses_.is_full()) return AccessResult::no_slot;
  const AccessResult result = begin(*link);
  if (result == AccessResult::posted) accesses_.begun();
  return result;
}

AccessResult SessionDevice::fetch(int peer, const OfferedMemory& from, std::span<std::byte> to,
                                  std::uint64_t token, bool exclusive) noexcept {
  if (!transport_->can_fetch()) return AccessResult::unsupported;
  return begin_access(peer, from.device, exclusive,
                      [&](Link& link) { return transport_->fetch(link, from, to, token); });
}

AccessResult SessionDevice::get(int peer, const RemoteMemory& from, std::span<std::byte> to,
                                std::uint64_t token, bool exclusive) noexcept {
  if (!transport_->can_access(to.size())) return AccessResult::unsupported;
  return begin_access(peer, from.device, exclusive,
                      [&](Link& link) { return transport_->get(link, from, to, token); });
}

AccessResult SessionDevice::put(int peer, const RemoteMemory& to, Bytes from, std::uint64_t token,
                                bool exclusive) noexcept {
  if (!transport_->can_access(from.size())) return AccessResult::unsupported;
  return begin_access(peer, to.device, exclusive,
                      [&](Link& link) { return transport_->put(link, to, from, token); });
}

void SessionDevice::stop() noexcept {
  Guard guard(lock_, false);
  for (; !guard; guard.try_again()) ::sched_yield();  // other threads hold the lock for moments only
  is_stopped_.store(true, std::memory_order_relaxed);
  transport_->stop();
}

}  // namespace weft::network::session
