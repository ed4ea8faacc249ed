#pragma once

#include <weft/options.hpp>

#include <cstddef>
#include <cstdint>

namespace weft {

/// One attribute set by the program, for example {"packet_size", "16K"}. It takes precedence over the
/// environment variable WEFT_<NAME>. `weft info` lists the names, units and ranges.
/// Both pointers need to stay valid only during the call that they are passed to.
struct AttributeSetting {
  const char* name = nullptr;
  const char* value = nullptr;
};

/// The effective values of a device and its network; the attributes are only requests.
struct DeviceAttributes {
  const char* network = "";         ///< "shm", "mixed", "tcp", "ofi", "ibv" or "sim"
  std::uint32_t index = 0;          ///< the index under which peers address the device
  bool is_serial = false;           ///< it belongs to a SerialEndpoint
  std::size_t inline_bytes = 0;     ///< payloads up to here travel without a packet
  std::size_t packet_bytes = 0;     ///< payloads up to here travel in one packet, others by rendezvous
  std::size_t immediate_bytes = 0;  ///< of immediate data that a put can carry
  bool reads_peers = false;         ///< large payloads are read from the sender's memory
  std::uint32_t requests = 0;       ///< operations in flight
  std::uint32_t backlog = 0;        ///< refused operations that are queued in the backlog, at most
  std::uint32_t unexpected_credits =
      0;  ///< messages towards one device of a peer before their receives are posted
};

/// The effective values of a matching engine.
struct MatchingEngineAttributes {
  std::uint16_t id = 0;
  bool is_serial = false;
  bool has_make_key = false;
  MatchOrder order = MatchOrder::unordered;
  std::uint32_t buckets = 0;  ///< buckets of its table
  std::uint32_t records = 0;  ///< posted receives and waiting messages, at most
};

}  // namespace weft
