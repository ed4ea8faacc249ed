// Memory that a rank allocates for its regions: anonymous files that peers map.
#pragma once

#include "base/descriptor.hpp"
#include "base/fork_watch.hpp"
#include "network/network.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace weft::network::shm {

/// A mapping of one region's file, by its owner or by a peer. Ranks of one process share the owner's mapping.
/// Of the mappings that the kernel lets a process have (vm.max_map_count), half are for regions of peers, a
/// quarter for its own regions whatever it has mapped of others, and the rest for everything else.
class RegionMapping {
 public:
  /// A forked child gets a copy of its own regions and can read regions of peers.
  enum class Of { own, peer };
  /// Maps `size` bytes (at least one page) of `descriptor`, which for Of::own stays open as long as the
  /// mapping. Throws weft::Error, also when the process has too many mappings of regions.
  RegionMapping(int descriptor, std::uint64_t size, Of of);
  ~RegionMapping();
  RegionMapping(const RegionMapping&) = delete;
  RegionMapping& operator=(const RegionMapping&) = delete;

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  /// Keeps the addresses out of use for a while when the mapping ends, because threads may be about to access
  /// the region by loads and stores.
  void keep_addresses() const noexcept { keeps_addresses_.store(true, std::memory_order_relaxed); }

 private:
  std::byte* base_;
  std::uint64_t bytes_;
  mutable std::atomic<bool> keeps_addresses_{false};
  std::optional<base::SharedMemoryWatch> watch_;
};

/// The allocated regions of a rank by index. A region's file has no name: peers open it as
/// peer_descriptor.hpp describes, and the kernel frees it with the last mapping. Any thread; set-up only.
class AllocatedMemory {
 public:
  explicit AllocatedMemory(std::uint32_t regions) : files_(regions) {}
  AllocatedMemory(const AllocatedMemory&) = delete;
  AllocatedMemory& operator=(const AllocatedMemory&) = delete;

  /// Allocates zeroed memory for a region. Throws weft::Error.
  std::byte* allocate(RegionName name, std::uint64_t size);
  [[nodiscard]] int descriptor(RegionName name) const noexcept;
  /// Returns the mapping, or nullptr when the region has been released.
  [[nodiscard]] std::shared_ptr<const RegionMapping> mapping(RegionName name) const noexcept;
  /// Returns the memory to the system; mappings of peers stay, and read as zeroes.
  void release(RegionName name, std::uint64_t size) noexcept;

 private:
  struct File {
    std::uint32_t generation = 0;
    base::Descriptor descriptor;
    std::shared_ptr<const RegionMapping> mapping;
  };
  mutable std::mutex mutex_;
  std::vector<File> files_;
};

/// Returns true when `descriptor` is a memory file of at least `size` bytes that can never become shorter.
[[nodiscard]] bool is_region_file(int descriptor, std::uint64_t size) noexcept;

}  // namespace weft::network::shm
