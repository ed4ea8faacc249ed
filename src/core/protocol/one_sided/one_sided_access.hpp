// A one-sided access as its post describes it.
#pragma once

#include "core/backlog/backlog.hpp"
#include "core/backlog/caller.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/one_sided/atomic_update.hpp"
#include "core/protocol/wire.hpp"

#include <weft/options.hpp>
#include <weft/remote_region.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::core {

struct OneSidedAccess {
  Operation operation;  // put, get or atomic
  int peer;
  RemoteAddress where;
  std::byte* data;  // only read by a put; for an atomic operation: where the old value goes, or null
  std::size_t size;
  AccessOptions options;
  AtomicUpdate update{};
};

/// How an attempt to post is made.
struct AccessOrigin {
  PendingPost* pending;  // its copy of the source moves to the request; null: the source is the user's
  Caller caller;
  bool waits_for_room;  // messages have to queue behind the backlog
  std::uint8_t epoch;   // epoch of the flushes
};

/// What both sides of one-sided operations count together.
struct OneSidedCounts {
  alignas(64) std::atomic<std::uint32_t> working{0};  // records that step() has to continue
  std::atomic<std::uint32_t> outstanding{0};          // operations of this rank, plus answers to peers
};

/// Messages up to this size are assembled on the stack of the thread that sends them.
inline constexpr std::size_t kStackMessage = 512;

/// The sizes of accesses by messages.
struct PieceSizes {
  explicit PieceSizes(const Context& context) noexcept
      : inline_limit(
            std::clamp(context.limits.inline_bytes, network::kSmallestSend, std::size_t{kStackMessage})),
        put(context.limits.packet_bytes - sizeof(AccessPiece)),
        get(context.limits.packet_bytes - sizeof(GetData)) {}
  std::size_t inline_limit;  // largest message that is sent without a packet
  std::uint64_t put;         // bytes of a piece that is sent in a packet
  std::uint64_t get;
};

}  // namespace weft::core
