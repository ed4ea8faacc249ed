// Options of the parcel runtime.
#pragma once

#include <weft/detail/export.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::parcel {

/// What of the parcels towards one rank travels together.
enum class Aggregation : std::uint8_t {
  /// Each parcel leaves at once while the transport accepts it; what it pushes back waits, and leaves
  /// together. So do parcels close upon each other while enough costly messages are under way
  /// (PortLimits::messages_at_once). The default.
  adaptive,
  /// Each parcel is a message of its own: the paper's send-immediate.
  immediate,
  /// Parcels go through a queue per rank, which a connection empties: the paper's default configuration.
  queued,
};

/// Who moves communication over weft.
enum class Progress : std::uint8_t {
  workers,  ///< workers, between tasks
  thread,   ///< a thread of its own for each device
  pinned,   ///< likewise, each on a processor of its own, from the last one backwards
  both,     ///< workers and a thread
};

struct RuntimeOptions {
  /// Any of the options below, and of the parcelport's own, as text, "port=tcp,workers=2", which then come
  /// before these.
  std::string_view text{};
  /// The parcelport: "weft", over whatever network weft has, or one that was registered
  /// (ports/parcelport_kind.hpp).
  std::string_view port = "weft";
  /// Worker threads, 1 to 256; 0: the processors of this process, shared by the ranks of its host.
  unsigned workers = 0;
  Aggregation aggregation = Aggregation::adaptive;
  /// Arrays of at least so many bytes become zero-copy chunks.
  std::size_t zero_copy = 8192;
  /// Parcels travel together up to so many bytes, without their chunks.
  std::size_t message_limit = 1 << 20;
  /// Connections that a rank keeps, the least recently used of which is dropped (Aggregation::queued).
  unsigned connections = 8192;
  /// Devices over which the workers spread, 1 to 64.
  unsigned devices = 1;
  /// Bytes of the stack of a task, 64 KiB to 1 GiB. What is not touched takes no memory. A task that is
  /// waited for may begin on the stack of the one who waits while half of it is left.
  std::size_t stack = 1 << 20;
  Progress progress = Progress::workers;
  /// Bytes of parcels, arrays included, that wait or are under way to other ranks: while there are so many,
  /// a task that sends more is suspended (a thread that is no worker sleeps). 1 to 2^50.
  std::size_t pending_limit = std::size_t{1} << 30;
  /// Bytes on their way to one rank from which on whoever sends more moves communication for some
  /// microseconds each time, as long as the rank takes them: so they stay in the caches. 0: never.
  std::size_t pace = std::size_t{1} << 20;
  /// Distinguishes the runtimes that a process has at a time, up to 50 bytes, equal on all ranks.
  std::string_view name{};
};

}  // namespace weft::parcel
