#include "network/session/session_port.hpp"

#include "network/session/remote_access.inl.hpp"

namespace weft::network::session {

SessionPort::SessionPort(SessionDevice& device, Peers& peers, const Capabilities& capabilities,
                         detail::DevicePath& path)
    : device_(device),
      peers_(peers),
      capabilities_(capabilities),
      before_(device.traffic()),
      no_lanes_(new detail::DevicePath::LaneRow[detail::DevicePath::row_size(
          static_cast<std::size_t>(peers.size()))]()) {
  path.ranks = static_cast<std::uint32_t>(peers.size());
  for (auto& row : path.rows) row.store(no_lanes_.get(), std::memory_order_relaxed);
}

AccessResult SessionPort::put(int peer, const RemoteMemory& to, Bytes from, const std::uint64_t* immediate,
                              std::uint64_t token) noexcept {
  if (!device_.transport().can_access(from.size())) return AccessResult::unsupported;
  return device_.access(peer, to.device, [&](Transport& transport, Link& link) {
    return transport.put(link, to, from, immediate, token);
  });
}

AccessResult SessionPort::get(int peer, const RemoteMemory& from, std::span<std::byte> to,
                              std::uint64_t token) noexcept {
  if (!device_.transport().can_access(to.size())) return AccessResult::unsupported;
  return device_.access(peer, from.device, [&](Transport& transport, Link& link) {
    return transport.get(link, from, to, token);
  });
}

AccessResult SessionPort::atomic(int peer, const RemoteMemory& where, const NativeAtomic& change,
                                 std::byte* old, std::uint64_t token) noexcept {
  return device_.access(peer, where.device, [&](Transport& transport, Link& link) {
    return transport.atomic(link, where, change, old, token);
  });
}

AccessResult SessionPort::fetch(int peer, const OfferedMemory& from, std::span<std::byte> to,
                                std::uint64_t token) noexcept {
  if (!device_.transport().can_fetch()) return AccessResult::unsupported;
  return device_.access(peer, from.device, [&](Transport& transport, Link& link) {
    return transport.fetch(link, from, to, token);
  });
}

AccessResult SessionPort::land(int peer, const RemoteLanding& to, Bytes from, const Offer& offer,
                               std::uint64_t token) noexcept {
  if (device_.transport().landing_bytes() == 0) return AccessResult::unsupported;
  return device_.access(peer, to.device, [&](Transport& transport, Link& link) {
    return transport.land(link, to, from, offer, token);
  });
}

Port::Traffic SessionPort::traffic() noexcept {
  const Traffic now = device_.traffic();
  return {.delivered = now.delivered - before_.delivered,
          .delivered_bytes = now.delivered_bytes - before_.delivered_bytes};
}

}  // namespace weft::network::session
