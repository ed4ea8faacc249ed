// The memory regions of a runtime, by the index that peers know.
#pragma once

#include "network/network.hpp"

#include <weft/local_region.hpp>
#include <weft/options.hpp>
#include <weft/remote_region.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace weft::core {

/// Whose regions they are: those of libraries are counted apart.
enum class RegionOwner : std::uint8_t { program, library };

/// The name of the region that an option names.
[[nodiscard]] constexpr network::RegionName name_of(LocalRegion region) noexcept {
  return {region.index(), region.generation()};
}

/// The table of regions. Looking up is wait-free; adding and removing are set-up and may wait.
class Regions {
 public:
  /// `of_program`, `of_libraries`: how many there may be of each owner. `quiesce` returns once no delivery
  /// that began before is running in another thread.
  Regions(network::Network& network, int rank, std::uint32_t of_program, std::uint32_t of_libraries,
          std::function<void()> quiesce);
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;

  /// Opens memory of the user to peers. Throws weft::Error when the table is full or the network cannot
  /// register it, or has not what the options ask for.
  RemoteRegion add(std::span<std::byte> memory, const RegionOptions& options = {});
  /// Opens memory that the network allocates; `memory` becomes its address and size. Throws as add().
  RemoteRegion allocate(std::size_t size, std::span<std::byte>& memory,
                        RegionOwner owner = RegionOwner::program, const RegionOptions& options = {});
  /// Closes a region. On return no access of a peer is in progress any more, and memory from allocate() is
  /// freed.
  void remove(std::uint32_t index) noexcept;

  /// The lowest index of a region that is open; -1: there is none.
  [[nodiscard]] std::int64_t first_open() noexcept;

  /// Returns `size` bytes at `offset` of a region of this rank, or nullptr when the name is stale or forged,
  /// or the bytes are not all inside. Valid until the end of the calling delivery or step.
  [[nodiscard]] std::byte* find(network::RegionName name, std::uint64_t offset,
                                std::uint64_t size) const noexcept {
    if (name.index >= capacity_) return nullptr;
    const Entry& entry = entries_[name.index];
    // Pairs with the release in open(): base and size are those of this generation.
    if (name.generation == 0 || entry.open.load(std::memory_order_acquire) != name.generation) return nullptr;
    if (offset > entry.memory.size() || size > entry.memory.size() - offset) return nullptr;
    return entry.memory.data() + offset;
  }
  /// Returns true when the region is open and holds all of the memory.
  [[nodiscard]] bool holds(network::RegionName name, Bytes memory) const noexcept {
    const std::byte* const begin = find(name, 0, 0);
    if (begin == nullptr) return false;
    const std::size_t bytes = entries_[name.index].memory.size();
    const auto offset =
        reinterpret_cast<std::uintptr_t>(memory.data()) - reinterpret_cast<std::uintptr_t>(begin);
    return memory.empty() || (offset <= bytes && memory.size() <= bytes - offset);
  }
  /// Returns true when a region that find() has just found is memory of the program, which may have made it
  /// read-only or unmapped it since: base/memory/guarded_copy.hpp accesses it.
  [[nodiscard]] bool is_of_program(network::RegionName name) const noexcept {
    return !entries_[name.index].allocated;
  }
  /// Returns true when devices carry out all atomic operations on a region that find() has just found.
  [[nodiscard]] bool has_native_atomics(network::RegionName name) const noexcept {
    return entries_[name.index].native_atomics;
  }

 private:
  struct Entry {
    std::atomic<std::uint32_t> open{0};  // the generation while the region is open, else 0
    std::uint32_t generation = 0;        // of the last use
    bool allocated = false;
    bool native_atomics = false;
    RegionOwner owner = RegionOwner::program;
    std::span<std::byte> memory;
  };

  network::RegionName take(RegionOwner owner);
  void release(network::RegionName name) noexcept;
  RemoteRegion open(network::RegionName name, std::span<std::byte> memory, bool allocated,
                    const RegionOptions& options);

  network::Network& network_;
  const int rank_;
  const std::array<std::uint32_t, 2> most_;  // by RegionOwner
  const std::uint32_t capacity_;             // sum
  const std::function<void()> quiesce_;
  const std::unique_ptr<Entry[]> entries_;
  std::byte nowhere_{};
  std::mutex mutex_;                     // guards the members below
  std::vector<std::uint32_t> free_;      // indices used before
  std::uint32_t used_ = 0;               // indices below have been used
  std::array<std::uint32_t, 2> open_{};  // by RegionOwner
};

}  // namespace weft::core
