// A rank's own segment: an anonymous memory file that peers map, and the allocations inside it.
#pragma once

#include "base/descriptor.hpp"
#include "base/fork_watch.hpp"
#include "network/shm/segment/layout.hpp"
#include "network/shm/segment/segment_heap.hpp"

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::network::shm {

/// The number of bytes of a mapped segment that a forked child finds zeroed, so that it finds no handle,
/// device or region open there. Packets, with the payloads held in them, lie behind.
[[nodiscard]] std::uint64_t hidden_from_children(const void* segment) noexcept;

/// A mapping of a segment, this rank's own or a peer's; unmapped on destruction.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(std::byte* base, std::uint64_t bytes) noexcept : base_(base), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] SegmentHeader& header() const noexcept { return *reinterpret_cast<SegmentHeader*>(base_); }
  [[nodiscard]] std::atomic<std::uint32_t>* open_handles() const noexcept {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(base_ + kOpenHandlesOffset);
  }
  [[nodiscard]] std::atomic<std::uint32_t>* handle_states() const noexcept {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(base_ + kHandleStatesOffset);
  }
  /// Returns a device area; `index` is below the header's devices_max.
  [[nodiscard]] DeviceArea& device(std::uint32_t index) const noexcept {
    return *reinterpret_cast<DeviceArea*>(base_ + kDevicesOffset + index * header().device_stride);
  }
  /// Returns a region's entry; `index` is below the header's regions_max.
  [[nodiscard]] RegionEntry& region(std::uint32_t index) const noexcept {
    return reinterpret_cast<RegionEntry*>(base_ + header().regions_offset)[index];
  }
  /// Returns true when `length` bytes at `offset` lie inside.
  [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t length) const noexcept {
    return offset <= bytes_ && length <= bytes_ - offset;
  }

 private:
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

struct SegmentGeometry {
  std::uint64_t bytes;
  std::uint32_t devices_max;
  std::uint32_t regions_max;
  std::uint32_t packets;
  std::uint64_t packet_payload;
  std::uint32_t lanes = 1024;  // into each device, for any sender; see kLanesOfRank
  std::uint32_t ranks = 1;
};

/// The segment that this rank owns. It has no name in any file system: peers borrow it from the
/// launcher, and the kernel frees it with the last mapping, however processes end.
class Segment {
 public:
  /// Throws weft::Error when memory cannot be allocated or the geometry does not fit into `bytes`.
  Segment(int rank, std::string_view job_id, const SegmentGeometry& geometry);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] const Mapping& mapping() const noexcept { return mapping_; }
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }

  struct Ring {
    std::uint64_t offset = 0;  // of its LaneControl; 0: none
    std::uint32_t slots = 0;
    bool is_full = false;  // no ring: no room, and not only another thread that allocates
  };
  /// Allocates a zeroed ring with `slots` (a power of two) slots; returns none when the segment is full or
  /// another thread is allocating at the moment. Lanes between devices leave a quarter of the room to lanes
  /// that the devices of a rank share, without which the rank could not send.
  [[nodiscard]] Ring allocate_ring(std::uint32_t slots) noexcept { return allocate(slots, heap_bytes()); }
  [[nodiscard]] Ring allocate_device_ring(std::uint32_t slots) noexcept {
    return allocate(slots, heap_bytes() / 4 * 3);
  }
  /// Allocates a ring that replaces a smaller one; see allocate_ring(). Such rings leave half of the room to
  /// new ones.
  [[nodiscard]] Ring allocate_larger_ring(std::uint32_t slots) noexcept {
    return allocate(slots, heap_bytes() / 2);
  }
  /// Allocates a zeroed reply slot for two lanes and returns its offset; 0 when there is no room, or another
  /// thread is allocating at the moment.
  [[nodiscard]] std::uint64_t allocate_reply_slot() noexcept;
  /// Notes that one of the reply slot's two lanes has ended, on both sides. Ignores offsets that are not of a
  /// reply slot.
  void release_reply_slot(std::uint64_t offset) noexcept;
  /// Releases a ring once its receiver has released it or has left; until then it stays allocated. With the
  /// ring goes one half of the reply slot at `reply_slot`, unless that is 0.
  void retire_ring(Ring ring, std::uint64_t reply_slot = 0,
                   const std::atomic<Presence>* receiver = nullptr) noexcept;
  /// The number of bytes that rings and reply slots use, without those that have been released.
  [[nodiscard]] std::uint64_t used_bytes() noexcept;
  [[nodiscard]] detail::LaneControl& control(Ring ring) const noexcept {
    return *reinterpret_cast<detail::LaneControl*>(mapping_.base() + ring.offset);
  }
  [[nodiscard]] detail::Slot* slots(Ring ring) const noexcept {
    return reinterpret_cast<detail::Slot*>(mapping_.base() + ring.offset + sizeof(detail::LaneControl));
  }

 private:
  struct Retired {
    Ring ring;
    std::uint64_t reply_slot;
    const std::atomic<Presence>* receiver;  // null: the receiver does not leave
  };
  [[nodiscard]] std::uint64_t heap_bytes() const noexcept { return mapping_.bytes() - heap_begin_; }
  /// `most`: bytes that may be in use after the allocation.
  [[nodiscard]] Ring allocate(std::uint32_t slots, std::uint64_t most) noexcept;
  void reclaim() noexcept;
  void clear(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void release_half(std::uint64_t reply_slot) noexcept;

  base::Descriptor file_;
  std::uint64_t heap_begin_ = 0;
  Mapping mapping_;
  std::mutex mutex_;  // allocations only try it; guards what follows
  SegmentHeap heap_;
  std::vector<Retired> retired_;
  std::unordered_map<std::uint64_t, int> reply_slot_halves_;  // by offset: lanes that have not ended
  std::vector<std::uint64_t> free_reply_slots_;
  const base::SharedMemoryWatch watch_;
};

}  // namespace weft::network::shm
