// The memory of the packet pool, registered for sending.
#pragma once

#include "network/ofi/libfabric/fabric.hpp"
#include "network/session/link/message_format.hpp"
#include "network/session/packets/packet_memory.hpp"

#include <cstdint>

namespace weft::network::ofi {

class PacketMemory : public session::PacketMemory {
 public:
  /// See session::PacketMemory. Throws weft::Error.
  PacketMemory(Fabric& fabric, std::uint32_t count, std::size_t payload,
               const Network::PacketMemory& foreign = {})
      : session::PacketMemory("ofi", count, payload, foreign),
        registration_(fabric.register_local(whole())) {}

  /// The message of an own packet: room for the header, directly in front of the payload.
  [[nodiscard]] std::byte* message(std::uint32_t packet) const noexcept {
    return payload(packet) - sizeof(session::Header);
  }
  [[nodiscard]] void* descriptor() const noexcept { return descriptor_of(registration_); }

 private:
  const Owned<fid_mr> registration_;
};

}  // namespace weft::network::ofi
