// A rank's own segment: an anonymous memory file that peers map, and what is allocated inside it.
#pragma once

#include "network/shm/layout.hpp"

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace weft::network::shm {

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
  /// `index` below the header's devices_max.
  [[nodiscard]] DeviceArea& device(std::uint32_t index) const noexcept {
    return reinterpret_cast<DeviceArea*>(base_ + kDevicesOffset)[index];
  }
  /// `index` below the header's regions_max.
  [[nodiscard]] RegionEntry& region(std::uint32_t index) const noexcept {
    return reinterpret_cast<RegionEntry*>(base_ + header().regions_offset)[index];
  }
  /// Whether `length` bytes at `offset` lie inside.
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
};

/// The segment that this rank owns. It has no name in any file system: peers open it through the
/// descriptor table of this process, and the kernel frees it with the last mapping, however processes end.
class Segment {
 public:
  /// Throws weft::Error when memory cannot be had or the geometry does not fit into `bytes`.
  Segment(int rank, std::string_view job_id, const SegmentGeometry& geometry);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] const Mapping& mapping() const noexcept { return mapping_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  struct Ring {
    std::uint64_t offset = 0;  // of its LaneControl; 0: none
    std::uint32_t slots = 0;
  };
  /// A zeroed ring with `slots` (a power of two) slots, or none when the segment is full or another thread
  /// is allocating at the moment.
  [[nodiscard]] Ring allocate_ring(std::uint32_t slots) noexcept { return allocate(slots, mapping_.bytes()); }
  /// The same for a ring that replaces a smaller one. Such rings leave half of the room to new ones.
  [[nodiscard]] Ring allocate_larger_ring(std::uint32_t slots) noexcept {
    return allocate(slots, heap_begin_ + (mapping_.bytes() - heap_begin_) / 2);
  }
  /// The offset of a zeroed slot for good, with no other within 128 bytes; 0: there is no room, or another
  /// thread is allocating at the moment.
  [[nodiscard]] std::uint64_t allocate_shuttle() noexcept;
  /// Gives a ring back once its receiver has released it; until then it is kept aside.
  void retire_ring(Ring ring) noexcept;
  [[nodiscard]] detail::LaneControl& control(Ring ring) const noexcept {
    return *reinterpret_cast<detail::LaneControl*>(mapping_.base() + ring.offset);
  }
  [[nodiscard]] detail::Slot* slots(Ring ring) const noexcept {
    return reinterpret_cast<detail::Slot*>(mapping_.base() + ring.offset + sizeof(detail::LaneControl));
  }

 private:
  /// `end`: it must not reach beyond.
  [[nodiscard]] Ring allocate(std::uint32_t slots, std::uint64_t end) noexcept;

  int descriptor_ = -1;
  Mapping mapping_;
  std::mutex mutex_;  // only tried, never waited for
  std::uint64_t heap_begin_ = 0;
  std::uint64_t heap_next_ = 0;      // rings are never given back to the heap
  std::uint64_t shuttles_next_ = 0;  // in a page of shuttles
  std::uint64_t shuttles_end_ = 0;
  std::vector<Ring> retired_;
};

}  // namespace weft::network::shm
