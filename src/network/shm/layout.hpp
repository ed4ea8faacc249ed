// What a rank's segment looks like to its peers. docs/wire.md has the same in prose.
#pragma once

#include <weft/detail/lane.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::network::shm {

inline constexpr std::uint64_t kMagic = 0x31304d4853544657;  // "WFTSHM01"
inline constexpr std::uint32_t kLayoutVersion = 10;
inline constexpr std::uint32_t kMaxLanes = 1024;
inline constexpr std::uint32_t kHandles = 65536;
inline constexpr std::uint32_t kReturnStacks = 8;
/// A shuttle has room for 8 KiB and what sends have behind them. Its slots are an even number: processors
/// fetch lines in pairs.
inline constexpr std::size_t kShuttleBytes = 130 * sizeof(detail::Slot);
inline constexpr std::size_t kShuttlePayload = kShuttleBytes - offsetof(detail::Slot, payload);

enum class Presence : std::uint32_t { absent, open, closed };

/// Indices of packets that peers have given back, linked through PacketHeader::next.
struct alignas(64) ReturnStack {
  std::atomic<std::uint32_t> head;  // index + 1; 0: empty
};

/// At offset 0. Everything but the atomics is written before the address is published.
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
  alignas(64) std::array<ReturnStack, kReturnStacks> returns;
};

/// In front of every packet's payload.
struct alignas(64) PacketHeader {
  std::atomic<std::uint32_t> next;        // index + 1 of the packet below in its return stack
  std::atomic<std::uint32_t> generation;  // counts uses; a return with another one is ignored
  std::atomic<std::uint32_t> holder;      // the owner's note: rank + 1 of the peer it was sent to; 0: none
};
static_assert(sizeof(PacketHeader) == 64);

/// One lane that ends at a device, filled in by its sender.
struct alignas(32) Announcement {
  enum class State : std::uint32_t { free, claimed, ready };
  std::atomic<State> state;
  std::int32_t rank;          // whose segment holds the ring
  std::uint64_t ring_offset;  // of the LaneControl in that segment; the slots follow
  std::uint32_t slots;
  std::uint16_t traffic;  // TrafficClass
  std::uint16_t stripe;   // of lanes for data: 0, or that of the threads that send
  // Of a lane for data: the shuttle that carries messages in this direction, too, by its offset in the
  // segment of the higher of the two ranks, in lines. 0: none. Written by that rank.
  std::atomic<std::uint32_t> shuttle;
  std::uint16_t device;        // that sends
  std::uint16_t shuttle_lane;  // announcement of the lane that goes back
};
static_assert(sizeof(Announcement) == 32);

/// What peers see of a device.
struct alignas(64) DeviceArea {
  std::atomic<Presence> presence;
  std::atomic<std::uint32_t> lanes_high;  // announcements below this index may be in use
  alignas(64) std::array<std::atomic<std::uint64_t>, kMaxLanes / 64> doorbells;  // a bit for each cold lane
  alignas(64) std::atomic<std::uint32_t> bell;                                   // futex of parked threads
  std::atomic<std::uint32_t> parked;
  alignas(64) std::array<Announcement, kMaxLanes> announcements;
};

enum class RegionKind : std::uint32_t {
  allocated,   // in a file of its own, which peers map
  registered,  // in the owner's private memory
};

/// One memory region, written by its owner. Peers look at it before every access; what stands behind the
/// generation does not change while they count as visitors and the region is open.
struct alignas(64) RegionEntry {
  std::atomic<std::uint32_t> generation;  // while the region is open; else 0
  std::atomic<std::uint32_t> visitors;    // peers inside a registered region, or mapping an allocated one
  RegionKind kind;
  std::int32_t descriptor;  // of the file, in the owner's process
  std::uint64_t size;
  std::uint64_t base;  // address in the owner's process
};
static_assert(sizeof(RegionEntry) == 64);

/// Two tables of 32-bit words by handle id: detail::open_handle() while the handle is open and its senders
/// are not stopped, else detail::closed_handle(); and generation(16) | HandleState(16), for whoever finds it
/// closed in the first.
inline constexpr std::uint64_t kOpenHandlesOffset = 4096;
inline constexpr std::uint64_t kHandleStatesOffset = kOpenHandlesOffset + kHandles * sizeof(std::uint32_t);
inline constexpr std::uint64_t kDevicesOffset = kHandleStatesOffset + kHandles * sizeof(std::uint32_t);
static_assert(sizeof(SegmentHeader) <= kOpenHandlesOffset);

/// A ring as it lies in the sender's segment.
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
