// Regions of a rank that peers reach by its device.
#pragma once

#include "network/ibv/verbs/rdma_device.hpp"
#include "network/memory_of_ranks.hpp"

#include <cstddef>
#include <cstdint>
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

/// Any thread.
class RegisteredRegions {
 public:
  explicit RegisteredRegions(Device& device) noexcept : device_(device) {}

  /// Returns the key. Throws weft::Error when the device cannot register the memory.
  [[nodiscard]] std::uint64_t add(RegionName name, std::span<std::byte> memory) {
    Registration registration =
        device_.register_memory(memory, kLocalAccess | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    const std::uint64_t key = region_key(name, registration->rkey);
    const std::lock_guard lock(mutex_);
    if (registrations_.size() <= name.index) registrations_.resize(name.index + std::size_t{1});
    registrations_[name.index] = std::move(registration);
    return key;
  }
  /// Peers reach it no more.
  void remove(RegionName name) noexcept {
    Registration ended;
    const std::lock_guard lock(mutex_);
    if (name.index < registrations_.size()) ended = std::move(registrations_[name.index]);
  }

 private:
  Device& device_;
  std::mutex mutex_;
  std::vector<Registration> registrations_;  // by index of the region
};

}  // namespace weft::network::ibv
