// Message classes (priorities), and the traffic class of the network in which each travels.
#pragma once

#include "network/network.hpp"

#include <weft/options.hpp>

#include <cstdint>

namespace weft::core {

inline constexpr std::size_t kMessageClasses = 3;

[[nodiscard]] constexpr bool is_message_class(std::uint32_t value) noexcept {
  return value < kMessageClasses;
}

/// The traffic class of messages and RTS messages.
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

/// The traffic class of payloads that an RTS announced. The receiver always accepts both of these traffic
/// classes, as nothing in them waits for its program: so a payload never waits behind a message that is
/// refused.
[[nodiscard]] constexpr network::TrafficClass traffic_of_data(MessageClass message_class) noexcept {
  return message_class == MessageClass::control ? network::TrafficClass::control
                                                : network::TrafficClass::rendezvous_data;
}

}  // namespace weft::core
