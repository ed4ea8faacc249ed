// Which protocol carries a payload.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::core {

enum class Protocol : std::uint8_t {
  inject,      // copied into slots
  eager,       // copied through a packet
  rendezvous,  // handshake, then one transfer
};

struct Limits {
  std::size_t inline_bytes;  // what the network takes without a packet
  std::size_t packet_bytes;  // what a packet holds
};

[[nodiscard]] constexpr Protocol select(std::size_t size, const Limits& limits) noexcept {
  if (size <= limits.inline_bytes) return Protocol::inject;
  if (size <= limits.packet_bytes) return Protocol::eager;
  return Protocol::rendezvous;
}

}  // namespace weft::core
