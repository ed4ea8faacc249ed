// The part of a device that inlined posts use without a call.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/lane.hpp>

#include <atomic>
#include <cstdint>

namespace weft::detail {

class RuntimeState;

/// Lanes of a device by (device of the peer, peer, column); null until first contact, or when the peer is not
/// reached by lanes. Written by the library, read by inlined posts.
///
/// Threads that share the device spread over columns, so that each has a lane to itself; the thread of a
/// SerialEndpoint uses the first column. If a device has fewer lanes to one peer's device than columns,
/// several columns hold the same lane.
struct DevicePath {
  static constexpr std::uint32_t kMaxDevices = 256;
  static constexpr std::uint32_t kColumns = 16;
  static constexpr std::uint32_t kFirstColumn = 0;
  static constexpr std::uint32_t kNoColumn = kColumns - 1;  // of threads without a column: never holds a lane
  using LaneRow = std::atomic<SendLane*>;

  std::uint32_t ranks = 0;
  std::uint8_t own_device = 0;  // its index
  const RuntimeState* runtime = nullptr;
  std::atomic<const LaneRow*> rows[kMaxDevices] = {};  // by the peer's device; never null once set up

  /// Entries of a row.
  [[nodiscard]] static constexpr std::size_t row_size(std::size_t ranks) noexcept { return ranks * kColumns; }
  [[nodiscard]] static constexpr std::size_t index_of(int peer, std::uint32_t column) noexcept {
    return static_cast<std::size_t>(peer) * kColumns + column;
  }
  [[nodiscard]] SendLane* lane(int peer, std::uint8_t device,
                               std::uint32_t column = kFirstColumn) const noexcept {
    if (static_cast<std::uint32_t>(peer) >= ranks) [[unlikely]]
      return nullptr;
    // Pairs with the release with which a new row, and in it a new lane, is published.
    return rows[device].load(std::memory_order_acquire)[index_of(peer, column)].load(
        std::memory_order_acquire);
  }
};

/// The column of the calling thread, given in turn from 0 and wrapping around, once the thread has made a
/// call into the library.
extern WEFT_API constinit thread_local std::uint32_t thread_column [[gnu::tls_model("initial-exec")]];

/// Returns the column of a post, by lock policy.
template <class Locking>
[[nodiscard, gnu::always_inline]] inline std::uint32_t column_of_post() noexcept {
  if constexpr (Locking::kExclusive)
    return DevicePath::kFirstColumn;
  else
    return thread_column;
}

}  // namespace weft::detail
