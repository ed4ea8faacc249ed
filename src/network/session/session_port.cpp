#include "network/session/session_port.hpp"

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

Port::Traffic SessionPort::traffic() noexcept {
  const Traffic now = device_.traffic();
  return {.delivered = now.delivered - before_.delivered,
          .delivered_bytes = now.delivered_bytes - before_.delivered_bytes};
}

}  // namespace weft::network::session
