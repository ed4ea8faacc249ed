// The format of messages that ranks send each other over a message network. docs/internals/wire.md has the
// same in prose.
#pragma once

#include "network/network.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::network::session {

inline constexpr std::uint32_t kMagic = 0x494c4657;  // "WFLI"
inline constexpr std::uint32_t kWireVersion = 9;

enum class Kind : std::uint8_t {
  data = 1,  // this and the next belong to traffic classes: they take a credit
  control,
  hello,  // this and those up to goodbye belong to the network itself: they take none
  credit,
  ask,
  handles,
  goodbye,
  urgent,  // this and the rest belong to traffic classes
  bulk,
  rendezvous_data,
};

[[nodiscard]] constexpr Kind kind_of(TrafficClass traffic) noexcept {
  constexpr std::array kKinds{Kind::data, Kind::control, Kind::urgent, Kind::bulk, Kind::rendezvous_data};
  static_assert(kKinds.size() == kTrafficClasses);
  return kKinds[static_cast<std::size_t>(traffic)];
}
/// The traffic class of a kind; only for kinds that belong to one.
[[nodiscard]] constexpr TrafficClass traffic_of(Kind kind) noexcept {
  return kind >= Kind::urgent
             ? static_cast<TrafficClass>(static_cast<int>(kind) - static_cast<int>(Kind::urgent) + 2)
             : static_cast<TrafficClass>(static_cast<int>(kind) - static_cast<int>(Kind::data));
}
/// The number of messages of a class that may be under way when the hello message grants `credits`: a quarter
/// for classes that need few.
[[nodiscard]] constexpr std::uint32_t credits_of(TrafficClass traffic, std::uint32_t credits) noexcept {
  const bool few = traffic == TrafficClass::urgent || traffic == TrafficClass::bulk;
  return few ? std::max(credits / 4, std::uint32_t{2}) : credits;
}
/// Messages of the network itself that may be under way beside those that take a credit.
inline constexpr std::uint32_t kForTheNetwork = 8;
/// One number for each TrafficClass.
using Counts = std::array<std::uint32_t, kTrafficClasses>;

/// Header in front of every message; the payload follows.
struct Header {
  std::uint64_t word;    // of the protocol
  std::uint32_t rank;    // of the sender
  std::uint8_t device;   // of the sender
  std::uint8_t channel;  // of the protocol
  Kind kind;
  std::uint8_t flags;  // kIsFrame or 0
};
static_assert(sizeof(Header) == 16, "the payload behind it is aligned to 16 bytes");
/// The payload is a frame: several messages of the kind, each behind a FrameRecord. Word and channel are 0.
inline constexpr std::uint8_t kIsFrame = 1;

/// Header of a message inside a frame. Its payload follows, padded to a multiple of kFrameAlignment.
struct FrameRecord {
  std::uint64_t word;
  std::uint32_t bytes;  // of the payload, without padding
  std::uint8_t channel;
  std::array<std::uint8_t, 3> zero;
};
static_assert(sizeof(FrameRecord) == 16, "the payload behind it is aligned to 16 bytes");
inline constexpr std::size_t kFrameAlignment = 16;
/// Bytes that a message with so many bytes of payload takes in a frame.
[[nodiscard]] constexpr std::size_t bytes_in_frame(std::size_t payload) noexcept {
  return sizeof(FrameRecord) + (payload + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment;
}

/// The number of messages in a frame; 0: it has a wrong form.
[[nodiscard]] inline std::uint32_t messages_in_frame(Bytes records) noexcept {
  std::uint32_t count = 0;
  for (; !records.empty(); ++count) {
    FrameRecord record{};
    if (records.size() < sizeof record) return 0;
    std::memcpy(&record, records.data(), sizeof record);
    const std::size_t room = bytes_in_frame(record.bytes);
    if (room > records.size()) return 0;
    records = records.subspan(room);
  }
  return count;
}

/// Introduces one device to another; both devices send one, in any order. The first changes of handles
/// follow, which need no credit.
struct Hello {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t credits;  // credits_of() derives from it the messages that the receiver of this hello may
                          // have under way
  std::uint32_t zero;
  std::array<char, 64> job_id;  // text, ends with a zero byte
};

/// Returns credit: what a device has taken from another since their first contact, modulo 2^32. A frame takes
/// one credit, whatever the number of its messages.
struct Credit {
  Counts taken;
  std::uint32_t handles;
  Counts messages;  // those in frames counted one by one
};

/// Asks for a Credit as soon as these messages have been taken.
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
inline constexpr std::size_t kChangesPerMessage = 32;
/// Longest hello, its header included.
inline constexpr std::size_t kLongestHello =
    sizeof(Header) + sizeof(Hello) + kChangesPerMessage * sizeof(HandleChange);

/// Record that a device publishes through the bootstrap; its address follows.
struct DeviceRecord {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t boot_id;        // of the kernel: equal on one host only
  std::uint64_t pid_namespace;  // in which the process id is valid
  std::int32_t process;
  std::uint32_t message_bytes;  // longest message that the device takes, header included
  std::uint32_t address_bytes;
  std::uint32_t zero;
  std::array<char, 64> provider;  // text, ends with a zero byte
};

/// Reads the payload of a message of the network itself. Returns false when its length is wrong.
template <class Payload>
[[nodiscard]] bool read_payload(Payload& payload, Bytes bytes) noexcept {
  if (bytes.size() != sizeof payload) return false;
  std::memcpy(&payload, bytes.data(), sizeof payload);
  return true;
}

}  // namespace weft::network::session
