// The counts of a device. Only calls that are made anyway count, so that inlined posts and the delivery of
// messages that fit into a slot count nothing. The rest is derived on demand (core/device/counters.cpp).
#pragma once

#include <weft/status.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::core {

class Count {
 public:
  /// Adds and returns the value before.
  std::uint64_t add(std::uint64_t amount = 1) noexcept {
    return value_.fetch_add(amount, std::memory_order_relaxed);
  }
  /// `exclusive`: this is the only thread that adds; no locked instruction then.
  void add(std::uint64_t amount, bool exclusive) noexcept {
    if (exclusive)
      value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    else
      add(amount);
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Counts the messages of one direction by channel of the protocols.
class ChannelCounts {
 public:
  static constexpr std::size_t kChannels = 32;

  void add(std::uint8_t channel, std::size_t size, bool exclusive) noexcept {
    By& by = by_channel_[channel % kChannels];
    by.messages.add(1, exclusive);
    if (size > kShort) by.bytes.add(size, exclusive);
  }
  template <class Channel>
  [[nodiscard]] std::uint64_t messages(Channel channel) const noexcept {
    return by_channel_[static_cast<std::size_t>(channel)].messages.value();
  }
  /// The bytes of messages that need more than a slot.
  template <class Channel>
  [[nodiscard]] std::uint64_t bytes(Channel channel) const noexcept {
    return by_channel_[static_cast<std::size_t>(channel)].bytes.value();
  }
  [[nodiscard]] std::uint64_t messages() const noexcept {
    std::uint64_t sum = 0;
    for (const By& by : by_channel_) sum += by.messages.value();
    return sum;
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const By& by : by_channel_) sum += by.bytes.value();
    return sum;
  }

  /// Messages up to this size are not counted anywhere, because inlined posts send them uncounted.
  static constexpr std::size_t kShort = 48;

 private:
  struct By {
    Count messages;
    Count bytes;
  };
  std::array<By, kChannels> by_channel_;
};

/// The last active message that was refused because its peer was not ready: the peer and the id of its
/// object.
class UnreadyTarget {
 public:
  void store(int peer, std::uint16_t id) noexcept {
    word_.store(std::uint64_t{1} << 63 | static_cast<std::uint64_t>(peer) << 16 | id,
                std::memory_order_relaxed);
  }
  /// Returns false, without effect, where there is none.
  bool take(std::int32_t& peer, std::int32_t& id) noexcept {
    const std::uint64_t word = word_.exchange(0, std::memory_order_relaxed);
    if (word == 0) return false;
    peer = static_cast<std::int32_t>(word >> 16 & 0x7fffffff);
    id = static_cast<std::int32_t>(word & 0xffff);
    return true;
  }

 private:
  std::atomic<std::uint64_t> word_{0};
};

struct DeviceCounts {
  static constexpr std::size_t kReasons = static_cast<std::size_t>(Reason::in_flight) + 1;

  ChannelCounts sent;  // sent by calls, not by inlined posts
  Count lock_misses;
  std::array<Count, kReasons> refusals;  // of posts
  UnreadyTarget unready;
  Count large_sent;
  Count puts;
  Count put_bytes;
  Count gets;
  Count get_bytes;
  Count atomics;
  Count accesses_by_messages;
  alignas(64) ChannelCounts received;  // except active messages and sends
  Count large_received;
  Count large_bytes_read;
  Count parks;
  Count parks_timed_out;
  Count parked_ns;
};

}  // namespace weft::core
