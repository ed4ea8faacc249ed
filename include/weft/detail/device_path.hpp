// The part of a device that posts reach without a call.
#pragma once

#include <weft/detail/lane.hpp>

#include <atomic>

namespace weft::detail {

/// Lanes of a device by (device of the peer, peer), null until first contact or where the peer is not
/// reached by lanes. Written by the library, read by inlined posts.
struct DevicePath {
  static constexpr std::uint32_t kMaxDevices = 256;
  using LaneRow = std::atomic<SendLane*>;

  std::uint32_t ranks = 0;
  std::uint8_t own_device = 0;                         // its index
  std::atomic<const LaneRow*> rows[kMaxDevices] = {};  // by the peer's device; never null once set up

  [[nodiscard]] SendLane* lane(int peer, std::uint8_t device) const noexcept {
    if (static_cast<std::uint32_t>(peer) >= ranks) [[unlikely]]
      return nullptr;
    // Pairs with the release with which a new row, and in it a new lane, is published.
    return rows[device].load(std::memory_order_acquire)[peer].load(std::memory_order_acquire);
  }
};

}  // namespace weft::detail
