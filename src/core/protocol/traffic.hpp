// With what traffic of the network messages of a class travel.
#pragma once

#include "network/network.hpp"

#include <weft/options.hpp>

#include <cstdint>

namespace weft::core {

inline constexpr std::size_t kMessageClasses = 3;

[[nodiscard]] constexpr bool is_message_class(std::uint32_t value) noexcept {
  return value < kMessageClasses;
}

/// Messages and announcements.
[[nodiscard]] constexpr network::TrafficClass traffic_of(MessageClass message_class) noexcept {
  switch (message_class) {
    case MessageClass::control:
      return network::TrafficClass::urgent;
    case MessageClass::bulk:
      return network::TrafficClass::bulk;
    case MessageClass::normal:
      break;
  }
  return network::TrafficClass::data;
}

/// Payloads that were announced. Both are always taken, as nothing else in these classes of traffic waits for
/// its receiver's program: so a payload never waits behind a message that somebody refuses.
[[nodiscard]] constexpr network::TrafficClass traffic_of_chunks(MessageClass message_class) noexcept {
  return message_class == MessageClass::control ? network::TrafficClass::control
                                                : network::TrafficClass::chunks;
}

}  // namespace weft::core
