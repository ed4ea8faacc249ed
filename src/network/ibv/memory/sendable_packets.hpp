// The memory of the packet pool, registered for sending.
#pragma once

#include "network/ibv/verbs/rdma_device.hpp"
#include "network/session/link/message_format.hpp"
#include "network/session/packets/packet_memory.hpp"

#include <cstdint>

namespace weft::network::ibv {

class PacketMemory : public session::PacketMemory {
 public:
  /// See session::PacketMemory. Throws weft::Error.
  PacketMemory(Device& device, std::uint32_t count, std::size_t payload, const Network::PacketMemory& foreign)
      : session::PacketMemory("ibv", count, payload, foreign),
        registration_(device.register_memory(whole(), kLocalAccess)) {}

  [[nodiscard]] std::uint32_t key() const noexcept { return registration_->lkey; }

 private:
  const Registration registration_;
};

}  // namespace weft::network::ibv
