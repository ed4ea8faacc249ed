// Choice of the protocol by size: inject, eager or rendezvous.
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
  std::size_t inline_bytes;  // largest message that the network accepts without a packet
  std::size_t packet_bytes;  // capacity of a packet
};

[[nodiscard]] constexpr Protocol select(std::size_t size, const Limits& limits) noexcept {
  if (size <= limits.inline_bytes) return Protocol::inject;
  if (size <= limits.packet_bytes) return Protocol::eager;
  return Protocol::rendezvous;
}

}  // namespace weft::core
