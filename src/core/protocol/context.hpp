// The state of a device that its protocols share.
#pragma once

#include "base/log.hpp"
#include "core/completion/exposures.hpp"
#include "core/completion/immediate_completions.hpp"
#include "core/diagnosis/device_counts.hpp"
#include "core/diagnosis/lost_operations.hpp"
#include "core/diagnosis/pending.hpp"
#include "core/diagnosis/trace.hpp"
#include "core/memory/regions.hpp"
#include "core/packet/packet_pool.hpp"
#include "core/protocol/observed_port.hpp"
#include "core/protocol/protocol_select.hpp"
#include "network/network.hpp"

#include <atomic>
#include <cstdint>

namespace weft::core {

/// How the payload of a large message travels: fetched by a network that can do it, or else read by the
/// receiver from the sender's memory (`read`; `automatic`: where that is learned to be faster), or else
/// streamed by the sender through packets. `copy`: always the last. `put`: put by the network of the sender
/// where it can do that; so do the others where it cannot fetch.
enum class Transfer : std::uint8_t { automatic, read, copy, put };

/// How puts and gets reach a region: by the network or else by messages, or only by one of them.
enum class AccessPath : std::uint8_t { automatic, direct, message };

/// Counts of what was refused or dropped in a whole runtime.
struct Counters {
  std::atomic<std::uint64_t> refused_handles{0};
  std::atomic<std::uint64_t> refused_messages{0};
  std::atomic<std::uint64_t> dropped_sends{0};
  std::atomic<std::uint64_t> refused_accesses{0};
};

class MatchingEngines;
class PayloadDevice;

struct Context {
  ObservedPort port;
  PacketPool& pool;
  detail::Exposures& exposures;
  Counters& counters;
  const base::Log& log;
  Limits limits;
  Transfer transfer;
  std::uint32_t requests;
  std::uint32_t device;
  Regions& regions;
  AccessPath access_path;
  int rank;
  int ranks;
  ImmediateCompletions& ends;
  PayloadDevice* payloads = nullptr;          // moves payloads for this device; null: this one does
  DeviceCounts* counts = nullptr;             // null: nothing is counted
  Tracer* tracer = nullptr;                   // null: no trace
  LostOperations* lost_operations = nullptr;  // null: losses are not reported
  std::size_t fetched_bytes = 0;              // attribute rendezvous_bytes
  std::uint32_t device_number = 0;            // number of the device in the process
  bool stages = false;                        // the port may stage messages
  bool limits_differ = false;                 // limits holds for all peers, limits_to() allows more for some
  Limits lane_limits{};                       // of peers to which there are lanes
  const MatchingEngines* engines = nullptr;

  /// The limits of messages to this peer: those of its network, where there are several.
  [[nodiscard]] Limits limits_to(int peer) const noexcept {
    if (!limits_differ) [[likely]]
      return limits;
    return {port->peer_capabilities(peer).inline_bytes, limits.packet_bytes};
  }
  /// Records an operation in the trace, if there is one: that it begins or ends under an id that is unique
  /// among those of its name, or that it has made progress.
  void trace(TraceEvent::Phase phase, const char* name, int peer, std::uint64_t size, std::uint64_t id,
             const char* detail = nullptr) const noexcept {
    if (tracer != nullptr) [[unlikely]]
      trace_operation(*tracer, device, phase, name, peer, size, id, detail);
  }
  /// Reports that an operation of this rank ends because its peer has left or failed.
  void lose(int peer, const char* what) const noexcept {
    if (lost_operations != nullptr) lost_operations->add(peer, what);
  }
  /// Notes an active message that was refused because the peer was not ready.
  void note_unready(int peer, RemoteCompletion remote) const noexcept {
    if (counts != nullptr) counts->unready.store(peer, remote.id());
  }
  /// Adds to a count and returns its value before.
  std::uint64_t count(Count DeviceCounts::*which, std::uint64_t amount = 1) const noexcept {
    return counts != nullptr ? (counts->*which).add(amount) : 0;
  }
};

/// Returns true when a repeating problem is reported again at this count: 1, 2, 4, 8, ...
[[nodiscard]] constexpr bool is_reported(std::uint64_t count) noexcept { return (count & (count - 1)) == 0; }

}  // namespace weft::core
