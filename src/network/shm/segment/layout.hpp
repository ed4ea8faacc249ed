// Layout of a rank's segment, as its peers see it. docs/internals/wire.md has the same in prose.
#pragma once

#include <weft/detail/lane.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::network::shm {

inline constexpr std::uint64_t kMagic = 0x31304d4853544657;  // "WFTSHM01"
inline constexpr std::uint32_t kLayoutVersion = 22;
/// Maximal number of announcements of a device. The segment's header has the actual number: `lanes`, which go
/// to the first senders that claim one, and behind them kLanesOfRank for each rank of the job, which its
/// devices share when they get none of the others.
inline constexpr std::uint32_t kMaxLanes = 8192;
inline constexpr std::uint32_t kLanesOfRank = 5;  // one for each traffic class
inline constexpr std::uint32_t kHandles = 65536;
inline constexpr std::uint32_t kReturnStacks = 8;
/// A reply slot has room for 8 KiB and the trailer of a send. The number of its slots is even: processors
/// fetch lines in pairs.
inline constexpr std::size_t kReplySlotBytes = 130 * sizeof(detail::Slot);
inline constexpr std::size_t kReplySlotPayload = kReplySlotBytes - offsetof(detail::Slot, payload);

enum class Presence : std::uint32_t { absent, open, closed };

/// Indices of packets that peers have returned, linked through PacketHeader::next.
struct alignas(64) ReturnStack {
  std::atomic<std::uint32_t> head;  // index + 1; 0: empty
};

/// Header at offset 0 of the segment. Everything but the atomics is written before the address is published.
struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t layout_version;
  std::int32_t rank;
  std::array<char, 64> job_id;
  std::uint64_t bytes;
  std::uint64_t packets_offset;
  std::uint64_t packet_stride;
  std::uint64_t packet_payload;
  std::uint32_t packet_count;
  std::uint32_t devices_max;
  std::atomic<Presence> presence;
  std::uint32_t regions_max;
  std::uint64_t regions_offset;
  std::atomic<std::uint32_t> regions_released;  // 1: a peer has released a region that this rank has mapped
  std::atomic<std::uint32_t> closing;           // Network::Closing
  std::uint32_t lanes;
  std::uint32_t ranks;
  std::uint64_t device_stride;
  // Handles and regions from these numbers on have never been open.
  std::atomic<std::uint32_t> handles_used;
  std::atomic<std::uint32_t> regions_used;
  alignas(64) std::array<ReturnStack, kReturnStacks> returns;
};

/// Raises a number that only grows: handles_used or regions_used, before the handle or region is opened. A
/// peer reads it once the rank has departed.
inline void raise(std::atomic<std::uint32_t>& number, std::uint32_t least) noexcept {
  std::uint32_t now = number.load(std::memory_order_relaxed);
  while (now < least && !number.compare_exchange_weak(now, least, std::memory_order_relaxed)) {
  }
}

/// Header in front of every packet's payload.
struct alignas(64) PacketHeader {
  std::atomic<std::uint32_t> next;        // index + 1 of the packet below in its return stack
  std::atomic<std::uint32_t> generation;  // counts uses; a return with another generation is ignored
  std::atomic<std::uint32_t> holder;      // written by the owner: rank + 1 of the peer; 0: none
};
static_assert(sizeof(PacketHeader) == 64);

/// Announcement of one lane that ends at a device, filled in by the lane's sender.
struct alignas(32) Announcement {
  enum class State : std::uint32_t { free, claimed, ready };
  std::atomic<State> state;
  std::int32_t rank;          // of the segment that holds the ring
  std::uint64_t ring_offset;  // of the LaneControl in that segment; the slots follow
  std::uint32_t slots;
  std::uint16_t traffic;  // TrafficClass
  std::uint16_t stripe;   // of lanes for data: 0, or the stripe of the threads that send
  // Of a lane for data: the reply slot that also carries messages in this direction, as its offset in lines
  // in the segment of the higher of the two ranks. 0: none. Written by that rank.
  std::atomic<std::uint32_t> reply_slot;
  std::uint16_t device;           // of the sender; kManyDevices: all devices of a rank share the lane
  std::uint16_t reply_slot_lane;  // index of the announcement of the lane that goes back
};
static_assert(sizeof(Announcement) == 32);
inline constexpr std::uint16_t kManyDevices = 0xffff;

/// The part of a device that peers see. Its announcements follow.
struct alignas(64) DeviceArea {
  std::atomic<Presence> presence;
  std::atomic<std::uint32_t> lanes_high;  // announcements below this index may be in use
  // Where the search for a free announcement begins, so that many senders do not all pass by those of the
  // others; a hint, at most the number of announcements for any sender.
  std::atomic<std::uint32_t> search_from;
  alignas(64) std::array<std::atomic<std::uint64_t>, kMaxLanes / 64> doorbells;  // a bit for each cold lane
  alignas(64) std::atomic<std::uint32_t> bell;                                   // futex of parked threads
  std::atomic<std::uint32_t> parked;

  [[nodiscard]] Announcement& announcement(std::uint32_t index) noexcept {
    return reinterpret_cast<Announcement*>(this + 1)[index];
  }
};

/// Ends the use of an announcement, in the receiving rank: it is free, or remains claimed.
inline void end_announcement(DeviceArea& area, std::uint32_t index, Announcement::State state) noexcept {
  // Pairs with the acquire in announce().
  area.announcement(index).state.store(state, std::memory_order_release);
  if (state == Announcement::State::free && index < area.search_from.load(std::memory_order_relaxed))
    area.search_from.store(index, std::memory_order_relaxed);
}

/// Makes the next thread that polls the device, or is about to park, process the news for its rank. Wakes no
/// thread.
inline void ask_to_look(DeviceArea& area) noexcept {
  std::uint32_t none = 0;  // doorbells are polled for as many lanes as were ever announced
  area.lanes_high.compare_exchange_strong(none, 1, std::memory_order_seq_cst);
  area.doorbells[0].fetch_or(1, std::memory_order_seq_cst);
}

/// The number of announcements of a device: those for any sender, and those of ranks.
[[nodiscard]] constexpr std::uint32_t all_lanes(std::uint32_t lanes, std::uint32_t ranks) noexcept {
  return lanes + ranks * kLanesOfRank;
}
/// Distance from one device area to the next.
[[nodiscard]] constexpr std::uint64_t device_stride(std::uint32_t lanes, std::uint32_t ranks) noexcept {
  return (sizeof(DeviceArea) + std::uint64_t{all_lanes(lanes, ranks)} * sizeof(Announcement) + 63) / 64 * 64;
}

enum class RegionKind : std::uint32_t {
  allocated,   // in a file of its own, which peers map
  registered,  // in the owner's private memory
};

/// One memory region, written by its owner. Peers read it before every access; the members behind the
/// generation do not change while the peer is counted in `attached` and the region is open.
struct alignas(64) RegionEntry {
  std::atomic<std::uint32_t> generation;  // of the region while it is open; else 0
  std::atomic<std::uint32_t> attached;    // peers inside a registered region, or mapping an allocated one
  RegionKind kind;
  std::int32_t descriptor;  // of the file, in the owner's process
  std::uint64_t size;
  std::uint64_t base;                   // address in the owner's process
  std::atomic<std::uint32_t> released;  // the last generation that was released: no peer accesses it any more
  // Ranks that have mapped an allocated region and must be told when it is released: a bit for each rank,
  // modulo kMapperBits.
  std::array<std::atomic<std::uint32_t>, 7> mappers;

  static constexpr std::uint32_t kMapperBits = 7 * 32;
  [[nodiscard]] static constexpr std::uint32_t mapper_bit(int rank) noexcept {
    return static_cast<std::uint32_t>(rank) % kMapperBits;
  }
};
static_assert(sizeof(RegionEntry) == 64);

/// Two tables of 32-bit words by handle id. The first has detail::open_handle() while the handle is open and
/// its senders are not stopped, else detail::closed_handle(). The second has generation(16) |
/// HandleState(16), for senders that find the handle closed in the first.
inline constexpr std::uint64_t kOpenHandlesOffset = 4096;
inline constexpr std::uint64_t kHandleStatesOffset = kOpenHandlesOffset + kHandles * sizeof(std::uint32_t);
inline constexpr std::uint64_t kDevicesOffset = kHandleStatesOffset + kHandles * sizeof(std::uint32_t);
static_assert(sizeof(SegmentHeader) <= kOpenHandlesOffset);

/// A ring in the sender's segment.
struct RingMarker {
  std::uint64_t ring_offset;
  std::uint32_t slots;
};
/// Payload of a slot of kind packet.
struct PacketReference {
  std::uint32_t index;
  std::uint32_t generation;
  std::uint64_t size;
};

[[nodiscard]] constexpr std::uint64_t ring_bytes(std::uint32_t slots) noexcept {
  return sizeof(detail::LaneControl) + std::uint64_t{slots} * sizeof(detail::Slot);
}

}  // namespace weft::network::shm
