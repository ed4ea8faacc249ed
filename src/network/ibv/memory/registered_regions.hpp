// Regions of a rank that peers reach by its device, and from which its own transfers need no registration.
#pragma once

#include "network/ibv/verbs/rdma_device.hpp"
#include "network/memory_of_ranks.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace weft::network::ibv {

/// The key of a region, as ranks tell each other. A device checks its lower half, but knows no names: whoever
/// uses a key checks that it was made for the name that it came with.
[[nodiscard]] constexpr std::uint64_t region_key(RegionName name, std::uint32_t key) noexcept {
  constexpr std::uint64_t kIsKey = std::uint64_t{1} << 32;  // a key of verbs may be 0
  return std::uint64_t{name.index * 0x9e3779b1U ^ name.generation} << 33 | kIsKey | key;
}
[[nodiscard]] constexpr bool is_key_of(std::uint64_t key, RegionName name) noexcept {
  return key == region_key(name, static_cast<std::uint32_t>(key));
}

/// Of memory that transfers of this rank use; ends with the last of them.
using LocalRegistration = std::shared_ptr<ibv_mr>;

/// Any thread.
class RegisteredRegions {
 public:
  explicit RegisteredRegions(Device& device) noexcept : device_(device) {}

  /// Returns the key. Throws weft::Error when the device cannot register the memory.
  [[nodiscard]] std::uint64_t add(RegionName name, std::span<std::byte> memory) {
    Registration registration = device_.register_memory(memory, kLocalAccess | device_.remote_access());
    const std::uint64_t key = region_key(name, registration->rkey);
    const std::lock_guard lock(mutex_);
    if (regions_.size() <= name.index) regions_.resize(name.index + std::size_t{1});
    regions_[name.index] = {name.generation, std::move(registration), memory, {}};
    by_address_[memory.data()] = name.index;
    return key;
  }
  /// Peers reach it no more. Transfers of this rank that are under way keep their registration, which is not
  /// found any more.
  void remove(RegionName name) noexcept {
    Region ended;
    const std::lock_guard lock(mutex_);
    if (name.index >= regions_.size()) return;
    ended = std::exchange(regions_[name.index], {});
    const auto found = by_address_.find(ended.memory.data());
    if (found != by_address_.end() && found->second == name.index) by_address_.erase(found);
  }
  /// Returns a registration of `memory` for transfers of this rank: the one that all transfers from and to a
  /// region share, which the first of them makes, or one of its own, with these rights. `within`: the region
  /// that holds the memory, unless it is a copy of what was posted; generation 0: to be looked for. Throws
  /// weft::Error.
  [[nodiscard]] LocalRegistration local(std::span<std::byte> memory, int access, RegionName within = {}) {
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock())
      if (Region* const region = within.generation != 0 ? region_at(within, memory) : region_of(memory);
          region != nullptr) {
        if (region->local == nullptr) region->local = device_.register_memory(region->memory, kLocalAccess);
        return region->local;
      }
    return device_.register_memory(memory, access);
  }

 private:
  /// Two registrations, since the key of peers ends with the region, and transfers may end later.
  struct Region {
    std::uint32_t generation = 0;
    Registration remote;
    std::span<std::byte> memory;
    LocalRegistration local;
  };

  /// Returns nullptr when it has ended, could not be registered, or does not hold the memory.
  [[nodiscard]] Region* region_at(RegionName name, std::span<std::byte> memory) noexcept {
    if (name.index >= regions_.size() || regions_[name.index].generation != name.generation) return nullptr;
    Region& region = regions_[name.index];
    return memory.data() >= region.memory.data() && ends_inside(memory, region) ? &region : nullptr;
  }
  [[nodiscard]] static bool ends_inside(std::span<std::byte> memory, const Region& region) noexcept {
    return memory.data() + memory.size() <= region.memory.data() + region.memory.size();
  }
  /// Returns the region that holds all of the memory, nullptr where there is none, or others overlap it.
  [[nodiscard]] Region* region_of(std::span<std::byte> memory) noexcept {
    const auto behind = by_address_.upper_bound(memory.data());
    if (behind == by_address_.begin()) return nullptr;
    Region& region = regions_[std::prev(behind)->second];
    return ends_inside(memory, region) ? &region : nullptr;
  }

  Device& device_;
  std::mutex mutex_;
  std::vector<Region> regions_;                         // by index
  std::map<const std::byte*, std::size_t> by_address_;  // their indices
};

}  // namespace weft::network::ibv
