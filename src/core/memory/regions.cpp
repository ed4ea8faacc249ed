#include "core/memory/regions.hpp"

#include <weft/error.hpp>

#include <string>

namespace weft::core {

using network::RegionName;

Regions::Regions(network::Network& network, int rank, std::uint32_t of_program, std::uint32_t of_libraries,
                 std::function<void()> quiesce)
    : network_(network),
      rank_(rank),
      most_{of_program, of_libraries},
      capacity_(of_program + of_libraries),
      quiesce_(std::move(quiesce)),
      entries_(new Entry[capacity_]) {
  free_.reserve(capacity_);  // so that releasing an index never allocates
}

RegionName Regions::take(RegionOwner owner) {
  const auto of_owner = static_cast<std::size_t>(owner);
  const std::lock_guard lock(mutex_);
  if (open_[of_owner] == most_[of_owner])
    throw Error(
        ErrorClass::no_memory,
        "MemoryRegion: all " + std::to_string(most_[of_owner]) +
            (owner == RegionOwner::program ? " regions of this rank are in use (attribute regions_max)"
                                           : " regions that libraries of this rank may have are in use"));
  ++open_[of_owner];
  std::uint32_t index = used_;
  if (free_.empty()) {
    ++used_;
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[index];
  entry.owner = owner;
  if (++entry.generation == 0) entry.generation = 1;
  return {index, entry.generation};
}

void Regions::release(RegionName name) noexcept {
  const std::lock_guard lock(mutex_);
  --open_[static_cast<std::size_t>(entries_[name.index].owner)];
  free_.push_back(name.index);
}

RemoteRegion Regions::open(RegionName name, std::span<std::byte> memory, bool allocated,
                           const RegionOptions& options) {
  if (options.native_atomics && !network_.has_native_atomics())
    throw Error(ErrorClass::network, "MemoryRegion: option native_atomics is set, and network " +
                                         std::string(network_.name()) +
                                         " has no native atomic operations on this host: leave it out, or "
                                         "take network ibv with a device that has them (`weft info`)");
  const network::RegionKeys keys = network_.register_memory(name, memory, allocated);
  Entry& entry = entries_[name.index];
  entry.memory = memory;
  entry.allocated = allocated;
  entry.native_atomics = options.native_atomics;
  // Pairs with the acquire in find().
  entry.open.store(name.generation, std::memory_order_release);
  return {rank_,         name.index,   name.generation, options.native_atomics ? 1U : 0U,
          memory.size(), keys.address, keys.key};
}

RemoteRegion Regions::add(std::span<std::byte> memory, const RegionOptions& options) {
  // Even a region of 0 bytes has an address: nullptr means that there is no region.
  if (memory.data() == nullptr) memory = {&nowhere_, 0};
  const RegionName name = take(RegionOwner::program);
  try {
    return open(name, memory, false, options);
  } catch (...) {
    release(name);
    throw;
  }
}

RemoteRegion Regions::allocate(std::size_t size, std::span<std::byte>& memory, RegionOwner owner,
                               const RegionOptions& options) {
  const RegionName name = take(owner);
  try {
    memory = {network_.allocate_memory(name, size), size};
    try {
      return open(name, memory, true, options);
    } catch (...) {
      network_.release_memory(name, memory, true);
      throw;
    }
  } catch (...) {
    release(name);
    throw;
  }
}

std::int64_t Regions::first_open() noexcept {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t index = 0; index < used_; ++index)
    if (entries_[index].open.load(std::memory_order_relaxed) != 0) return index;
  return -1;
}

void Regions::remove(std::uint32_t index) noexcept {
  Entry& entry = entries_[index];
  const RegionName name{index, entry.generation};
  entry.open.store(0, std::memory_order_relaxed);
  // Deliveries that found it open end first; those that begin later find it closed.
  quiesce_();
  network_.release_memory(name, entry.memory, entry.allocated);
  release(name);
}

}  // namespace weft::core
