// Memory that a rank has allocated for its regions: anonymous files that peers map.
#pragma once

#include "network/network.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace weft::network::shm {

/// A mapping of one region's file, the owner's or a peer's. Ranks of one process share the owner's.
class RegionMapping {
 public:
  /// Maps `size` bytes (at least one page) of `descriptor`. Throws weft::Error.
  RegionMapping(int descriptor, std::uint64_t size);
  ~RegionMapping();
  RegionMapping(const RegionMapping&) = delete;
  RegionMapping& operator=(const RegionMapping&) = delete;

  [[nodiscard]] std::byte* base() const noexcept { return base_; }

 private:
  std::byte* base_;
  std::uint64_t bytes_;
};

/// The allocated regions of a rank by index. A file has no name: peers open it through the descriptor table
/// of this process, and the kernel frees it with the last mapping. Any thread; set-up only.
class AllocatedMemory {
 public:
  explicit AllocatedMemory(std::uint32_t regions) : files_(regions) {}
  ~AllocatedMemory();
  AllocatedMemory(const AllocatedMemory&) = delete;
  AllocatedMemory& operator=(const AllocatedMemory&) = delete;

  /// Zeroed memory for a region. Throws weft::Error.
  std::byte* allocate(RegionName name, std::uint64_t size);
  [[nodiscard]] int descriptor(RegionName name) const noexcept;
  /// The mapping, or nullptr when the region is gone.
  [[nodiscard]] std::shared_ptr<const RegionMapping> mapping(RegionName name) const noexcept;
  /// Gives the memory back to the system; mappings of others stay, with zeroes.
  void release(RegionName name, std::uint64_t size) noexcept;

 private:
  struct File {
    std::uint32_t generation = 0;
    int descriptor = -1;
    std::shared_ptr<const RegionMapping> mapping;
  };
  mutable std::mutex mutex_;
  std::vector<File> files_;
};

/// Whether `descriptor` is a memory file of at least `size` bytes that can never become shorter.
[[nodiscard]] bool is_region_file(int descriptor, std::uint64_t size) noexcept;

}  // namespace weft::network::shm
