#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::base {

enum class Attribute : std::uint8_t {
  network,
  packet_size,
  packets,
  packet_magazine,
  lane_slots,
  lane_slots_max,
  lanes_max,
  inline_max,
  requests,
  backlog,
  backlog_peer,
  held_packets,
  devices_max,
  segment_size,
  rendezvous,
  spin,
  yield,
  park_timeout,
  drain_timeout,
  bootstrap_timeout,
  log_level,
};

enum class AttributeType : std::uint8_t { boolean, integer, size, seconds, choice, text };

/// One row describes everything about an attribute; the environment variable, the checks, `weft info`
/// and the documentation are made from it.
struct AttributeRow {
  Attribute id;
  std::string_view name;  ///< the environment variable is WEFT_ and this in capitals
  AttributeType type;
  std::string_view default_value;  ///< written as a user would write it
  std::string_view unit = {};
  std::int64_t minimum = 0;  ///< in seconds for that type
  std::int64_t maximum = 0;
  bool power_of_two = false;
  std::string_view choices = {};  ///< separated by '|', in the order of the enumeration they stand for
  std::string_view help = {};
};

inline constexpr std::int64_t kKibi = 1024;
inline constexpr std::int64_t kMebi = 1024 * kKibi;
inline constexpr std::int64_t kGibi = 1024 * kMebi;

// clang-format off
inline constexpr std::array kAttributeTable = {
  AttributeRow{.id = Attribute::network, .name = "network", .type = AttributeType::choice, .default_value = "auto",
    .choices = "auto|shm", .help = "network that carries messages between ranks; auto takes the fastest that reaches each peer"},
  AttributeRow{.id = Attribute::packet_size, .name = "packet_size", .type = AttributeType::size, .default_value = "8K",
    .unit = "bytes", .minimum = kKibi, .maximum = kMebi, .help = "payload that one packet holds; larger messages go by rendezvous"},
  AttributeRow{.id = Attribute::packets, .name = "packets", .type = AttributeType::integer, .default_value = "1024",
    .unit = "packets", .minimum = 16, .maximum = 65536, .help = "packets in the pool of a rank"},
  AttributeRow{.id = Attribute::packet_magazine, .name = "packet_magazine", .type = AttributeType::integer, .default_value = "32",
    .unit = "packets", .minimum = 1, .maximum = 64, .help = "packets that a thread keeps for itself before it gives some back"},
  AttributeRow{.id = Attribute::lane_slots, .name = "lane_slots", .type = AttributeType::integer, .default_value = "256",
    .unit = "slots", .minimum = 64, .maximum = 4096, .power_of_two = true, .help = "64-byte slots of a lane when it is first used"},
  AttributeRow{.id = Attribute::lane_slots_max, .name = "lane_slots_max", .type = AttributeType::integer, .default_value = "1024",
    .unit = "slots", .minimum = 64, .maximum = 4096, .power_of_two = true, .help = "slots up to which a lane grows under load"},
  AttributeRow{.id = Attribute::lanes_max, .name = "lanes_max", .type = AttributeType::integer, .default_value = "1024",
    .unit = "lanes", .minimum = 1, .maximum = 1024, .help = "lanes that may lead into one rank"},
  AttributeRow{.id = Attribute::inline_max, .name = "inline_max", .type = AttributeType::size, .default_value = "432",
    .unit = "bytes", .minimum = 48, .maximum = 2 * kKibi, .help = "largest payload that is sent inside the slots of a lane"},
  AttributeRow{.id = Attribute::requests, .name = "requests", .type = AttributeType::integer, .default_value = "1024",
    .unit = "operations", .minimum = 16, .maximum = 1 << 20, .help = "operations in flight on one device"},
  AttributeRow{.id = Attribute::backlog, .name = "backlog", .type = AttributeType::integer, .default_value = "1024",
    .unit = "operations", .minimum = 1, .maximum = 1 << 20, .help = "refused operations that one device keeps for retry"},
  AttributeRow{.id = Attribute::backlog_peer, .name = "backlog_peer", .type = AttributeType::integer, .default_value = "256",
    .unit = "operations", .minimum = 1, .maximum = 1 << 20, .help = "part of a device's backlog that one peer may fill"},
  AttributeRow{.id = Attribute::held_packets, .name = "held_packets", .type = AttributeType::integer, .default_value = "64",
    .unit = "packets", .minimum = 1, .maximum = 65536, .help = "packets of one peer that queued messages may hold before they are copied out"},
  AttributeRow{.id = Attribute::devices_max, .name = "devices_max", .type = AttributeType::integer, .default_value = "64",
    .unit = "devices", .minimum = 1, .maximum = 256, .help = "devices that one rank may open"},
  AttributeRow{.id = Attribute::segment_size, .name = "segment_size", .type = AttributeType::size, .default_value = "256M",
    .unit = "bytes", .minimum = kMebi, .maximum = 1024 * kGibi, .help = "address range of a rank's shared segment; memory is used only when touched"},
  AttributeRow{.id = Attribute::rendezvous, .name = "rendezvous", .type = AttributeType::choice, .default_value = "auto",
    .choices = "auto|read|copy", .help = "how large messages move: read from the sender's memory (cross-memory attach, where permitted), copied through packets; auto: copy"},
  AttributeRow{.id = Attribute::spin, .name = "spin", .type = AttributeType::integer, .default_value = "32",
    .unit = "polls", .minimum = 0, .maximum = 1 << 20, .help = "empty polls of a waiting thread before it yields"},
  AttributeRow{.id = Attribute::yield, .name = "yield", .type = AttributeType::integer, .default_value = "64",
    .unit = "yields", .minimum = 0, .maximum = 1 << 20, .help = "yields of a waiting thread before it parks"},
  AttributeRow{.id = Attribute::park_timeout, .name = "park_timeout", .type = AttributeType::seconds, .default_value = "0.05",
    .unit = "seconds", .minimum = 0, .maximum = 60, .help = "longest time that a parked thread sleeps before it polls again"},
  AttributeRow{.id = Attribute::drain_timeout, .name = "drain_timeout", .type = AttributeType::seconds, .default_value = "5",
    .unit = "seconds", .minimum = 0, .maximum = 3600, .help = "time that a runtime's destructor gives its own operations to end"},
  AttributeRow{.id = Attribute::bootstrap_timeout, .name = "bootstrap_timeout", .type = AttributeType::seconds, .default_value = "30",
    .unit = "seconds", .minimum = 0, .maximum = 86400, .help = "longest wait for the launcher or for a value of another rank"},
  AttributeRow{.id = Attribute::log_level, .name = "log_level", .type = AttributeType::choice, .default_value = "warn",
    .choices = "error|warn|info|debug", .help = "least important messages that are written to standard error"},
};
// clang-format on

inline constexpr std::size_t kAttributeCount = kAttributeTable.size();

constexpr const AttributeRow& row_of(Attribute attribute) {
  return kAttributeTable[static_cast<std::size_t>(attribute)];
}

consteval bool rows_are_in_the_order_of_the_enumeration() {
  for (std::size_t i = 0; i < kAttributeCount; ++i) {
    if (static_cast<std::size_t>(kAttributeTable[i].id) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_the_order_of_the_enumeration(), "row_of() indexes the table by the enumerator");

}  // namespace weft::base
