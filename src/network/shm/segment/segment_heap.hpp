// Allocator for the pages of a segment.
#pragma once

#include <cstdint>
#include <map>

namespace weft::network::shm {

/// Hands out ranges of bytes by first fit, whole pages when whole pages are requested; a released range is
/// merged with its neighbours. Does not touch the memory. One thread at a time.
class SegmentHeap {
 public:
  SegmentHeap() = default;
  SegmentHeap(std::uint64_t begin, std::uint64_t end) {
    if (begin < end) free_.emplace(begin, end - begin);
  }

  /// Allocates `bytes` and returns their offset, or 0. Allocates no other memory.
  [[nodiscard]] std::uint64_t take(std::uint64_t bytes) noexcept;
  /// Throws std::bad_alloc; the range then stays allocated.
  void release(std::uint64_t offset, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t used() const noexcept { return used_; }

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  // bytes by offset; no two ranges are neighbours
  std::uint64_t used_ = 0;
};

}  // namespace weft::network::shm
