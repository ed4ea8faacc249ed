// Resources that the endpoints of a rank share.
#pragma once

#include "base/log.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/session/courier/courier.hpp"
#include "network/session/link/peers.hpp"
#include "network/session/packets/packet_memory.hpp"
#include "network/tcp/connection/offers.hpp"
#include "sockets/acceptor.hpp"
#include "sockets/addresses.hpp"
#include "sockets/greeting.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::network::tcp {

struct EndpointContext {
  const sockets::Membership& membership;
  sockets::Acceptor& acceptor;
  Offers& offers;
  NamedMemory& regions;
  session::Peers& peers;
  session::PacketMemory& packets;
  bootstrap::Bootstrap& bootstrap;
  detail::PayloadLender& copier;
  const base::Log& log;
  const std::vector<sockets::Interface>& interfaces;
  session::Courier& courier;
  std::uint64_t network_namespace;
  std::size_t message_bytes;  // longest message, session header included
};

}  // namespace weft::network::tcp
