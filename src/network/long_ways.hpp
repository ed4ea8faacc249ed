// Ports that know how long the way to a peer is.
#pragma once

#include <cstdint>

namespace weft::network {

/// An ability of some ports. Any thread.
class KnowsLongWays {
 public:
  /// How many messages of one class may be under way between this device and the peer's where a round trip
  /// takes so long that fewer would limit what is sent; 0: the way is short, or its length is not known.
  [[nodiscard]] virtual std::uint32_t most_under_way(int peer, std::uint8_t device) noexcept = 0;

 protected:
  ~KnowsLongWays() = default;
};

}  // namespace weft::network
