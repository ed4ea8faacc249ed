// Memory regions on shared memory: the owner's side, and mapping regions of peers.
#include "network/shm/shm_network.hpp"

#include "base/log.hpp"
#include "network/shm/segment/peer_descriptor.hpp"

#include <sched.h>
#include <chrono>
#include <thread>

namespace weft::network::shm {

namespace {

/// Longer than any access; an owner waits so long only when a peer was killed during an access.
constexpr auto kLongestVisit = std::chrono::seconds(5);
constexpr auto kContact = std::chrono::milliseconds(100);

}  // namespace

std::byte* ShmNetwork::allocate_memory(RegionName name, std::size_t size) {
  return memory_->allocate(name, size);
}

RegionKeys ShmNetwork::register_memory(RegionName name, std::span<std::byte> memory, bool allocated) {
  RegionEntry& entry = segment_->mapping().region(name.index);
  raise(segment_->mapping().header().regions_used, name.index + 1);
  entry.kind = allocated ? RegionKind::allocated : RegionKind::registered;
  entry.descriptor = allocated ? memory_->descriptor(name) : -1;
  if (allocated && is_out_of_reach(bootstrap_)) lend(name, entry.descriptor);
  entry.size = memory.size();
  entry.base = reinterpret_cast<std::uint64_t>(memory.data());
  for (auto& mappers : entry.mappers) mappers.store(0, std::memory_order_relaxed);
  // Pairs with the loads of the generation by peers: one that finds this generation finds the entry
  // written above.
  entry.generation.store(name.generation, std::memory_order_release);
  // Peers read everything from the entry, and do not trust a key.
  return {};
}

void ShmNetwork::release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept {
  RegionEntry& entry = segment_->mapping().region(name.index);
  entry.generation.store(0, std::memory_order_seq_cst);
  const auto deadline = std::chrono::steady_clock::now() + kLongestVisit;
  while (entry.attached.load(std::memory_order_seq_cst) != 0) {
    if (std::chrono::steady_clock::now() > deadline) break;
    ::sched_yield();
  }
  if (allocated) take_back(name);
  if (allocated) memory_->release(name, memory.size());
  // Pairs with the acquire in RemoteWindows::sweep(): the memory has been released.
  entry.released.store(name.generation, std::memory_order_release);
  if (allocated) notify_mappers(entry);
}

/// Lends the region's file to peers that cannot open it by themselves. When it cannot be lent, the region is
/// reached by messages.
void ShmNetwork::lend(RegionName name, int descriptor) {
  const std::lock_guard lock(lent_mutex_);
  if (bootstrap_.lend(region_key(name), descriptor)) lent_.insert(name.index);
}

void ShmNetwork::take_back(RegionName name) noexcept {
  try {
    const std::lock_guard lock(lent_mutex_);
    if (lent_.erase(name.index) != 0) bootstrap_.take_back(region_key(name));
  } catch (const std::exception&) {
    // The launcher has ended, and the files that it kept with it.
  }
}

/// Tells the ranks that have mapped a released region to end their mappings at their next progress, on any
/// device.
void ShmNetwork::notify_mappers(const RegionEntry& entry) noexcept {
  for (int rank = 0; rank < peers_.size(); ++rank) {
    const std::uint32_t bit = RegionEntry::mapper_bit(rank);
    if ((entry.mappers[bit / 32].load(std::memory_order_relaxed) >> bit % 32 & 1) == 0) continue;
    if (rank == rank_) {
      remote_windows_.sweep(true);
      continue;
    }
    const Peer* peer = peers_.contact(rank);
    if (peer == nullptr || peer->has_left()) continue;
    const Mapping& there = *peer->mapping;
    // When the flag was set already, the peer's next sweep covers this region as well.
    if (there.header().regions_released.exchange(1, std::memory_order_acq_rel) != 0) continue;
    for (std::uint32_t device = 0; device < there.header().devices_max; ++device)
      if (there.device(device).presence.load(std::memory_order_relaxed) == Presence::open)
        ask_to_look(there.device(device));
  }
}

std::optional<detail::DirectWindow> ShmNetwork::map_memory(int rank, const RemoteMemory& memory) {
  // A rank that has a key of a region has heard of its owner: a contact that fails now was tried a moment
  // ago.
  const Peer* peer = peers_.contact(rank);
  for (const auto end = std::chrono::steady_clock::now() + kContact;
       peer == nullptr && !peers_.departed(rank) && std::chrono::steady_clock::now() < end;
       peer = peers_.contact(rank))
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  if (peer == nullptr || memory.region.index >= peer->mapping->header().regions_max) return std::nullopt;
  RegionEntry& entry = peer->mapping->region(memory.region.index);
  const RegionVisit visit(entry);
  if (memory.region.generation == 0 || !visit.is_open(memory.region) || entry.kind != RegionKind::allocated)
    return std::nullopt;
  const RemoteWindows::Found found = remote_windows_.map(*peer, memory.region, entry, true);
  if (!found.is_known || found.window.base == nullptr) return std::nullopt;
  return found.window;
}

}  // namespace weft::network::shm
