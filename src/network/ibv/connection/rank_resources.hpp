// Resources that the endpoints of a rank share.
#pragma once

#include "base/log.hpp"
#include "network/ibv/connection/device_events.hpp"
#include "network/ibv/memory/registered_regions.hpp"
#include "network/ibv/memory/sendable_packets.hpp"
#include "network/ibv/verbs/thread_domain.hpp"
#include "network/session/link/peers.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::network::ibv {

struct RankResources {
  Device& device;
  DeviceEvents& events;
  session::Peers& peers;
  PacketMemory& packets;
  RegisteredRegions& regions;
  detail::PayloadLender& copier;
  const base::Log& log;
  std::size_t inline_bytes;   // longest payload that is copied
  std::size_t message_bytes;  // longest message, header included
  bool fetches;               // large payloads, instead of opening landings for them
  std::uint8_t ack_timeout;   // see QueuePairPlan
  ThreadDomains thread_domains;
};

}  // namespace weft::network::ibv
