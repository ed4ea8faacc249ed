// What ranks send each other through libfabric. docs/wire.md has the same in prose.
#pragma once

#include "network/network.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::network::ofi {

inline constexpr std::uint32_t kMagic = 0x494c4657;  // "WFLI"
inline constexpr std::uint32_t kWireVersion = 2;

enum class Kind : std::uint8_t {
  data = 1,  // of the traffic classes: these take a credit
  control,
  hello,  // of the network itself: these take none
  credit,
  ask,
  handles,
  goodbye,
  urgent,  // of the traffic classes again
  bulk,
  chunks,
};

[[nodiscard]] constexpr Kind kind_of(TrafficClass traffic) noexcept {
  constexpr std::array kKinds{Kind::data, Kind::control, Kind::urgent, Kind::bulk, Kind::chunks};
  static_assert(kKinds.size() == kTrafficClasses);
  return kKinds[static_cast<std::size_t>(traffic)];
}
/// Only of a kind that belongs to one.
[[nodiscard]] constexpr TrafficClass traffic_of(Kind kind) noexcept {
  return kind >= Kind::urgent
             ? static_cast<TrafficClass>(static_cast<int>(kind) - static_cast<int>(Kind::urgent) + 2)
             : static_cast<TrafficClass>(static_cast<int>(kind) - static_cast<int>(Kind::data));
}
/// Messages of a class that may be under way where the greeting tells this number of credits: a quarter where
/// few are needed.
[[nodiscard]] constexpr std::uint32_t credits_of(TrafficClass traffic, std::uint32_t credits) noexcept {
  const bool few = traffic == TrafficClass::urgent || traffic == TrafficClass::bulk;
  return few ? std::max(credits / 4, std::uint32_t{2}) : credits;
}
/// By TrafficClass.
using Counts = std::array<std::uint32_t, kTrafficClasses>;

/// In front of every message; the payload follows.
struct Header {
  std::uint64_t word;    // the protocol's
  std::uint32_t rank;    // of the sender
  std::uint8_t device;   // of the sender
  std::uint8_t channel;  // the protocol's
  Kind kind;
  std::uint8_t zero;
};
static_assert(sizeof(Header) == 16, "the payload behind it is aligned to 16 bytes");

/// Introduces one device to another; each sends one, whoever is first.
struct Hello {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t credits;  // from which credits_of() tells what the receiver of this may have under way
  std::uint32_t zero;
  std::array<char, 64> job_id;  // text, ends with a zero byte
};

/// What a device has taken from another since they met, counted modulo 2^32.
struct Credit {
  Counts taken;
  std::uint32_t handles;
};

/// Asks for a Credit as soon as so much has been taken.
struct Ask {
  Counts sent;
};

/// One changed handle; a message of kind handles has several.
struct HandleChange {
  std::uint16_t id;
  std::uint16_t generation;
  std::uint16_t state;  // HandleState
  std::uint16_t zero;
  std::uint32_t version;  // counts the changes of this id
};
static_assert(sizeof(HandleChange) == 12);

/// What a device publishes through the bootstrap; its address follows.
struct DeviceRecord {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t boot_id;        // of the kernel: equal on one host only
  std::uint64_t pid_namespace;  // process ids mean something inside one
  std::int32_t process;
  std::uint32_t message_bytes;  // longest message that the device takes, header included
  std::uint32_t address_bytes;
  std::uint32_t zero;
  std::array<char, 64> provider;  // text, ends with a zero byte
};

}  // namespace weft::network::ofi
