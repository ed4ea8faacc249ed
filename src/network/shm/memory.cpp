// Memory regions on shared memory: what their owner does, and mapping them.
#include "network/shm/shm_network.hpp"

#include "base/log.hpp"

#include <sched.h>
#include <chrono>
#include <thread>

namespace weft::network::shm {

namespace {

/// Longer than any access; only a peer that was killed during one makes its owner wait so long.
constexpr auto kLongestVisit = std::chrono::seconds(5);
constexpr auto kContact = std::chrono::milliseconds(100);

}  // namespace

std::byte* ShmNetwork::allocate_memory(RegionName name, std::size_t size) {
  return memory_->allocate(name, size);
}

RegionKeys ShmNetwork::register_memory(RegionName name, std::span<std::byte> memory, bool allocated) {
  RegionEntry& entry = segment_->mapping().region(name.index);
  entry.kind = allocated ? RegionKind::allocated : RegionKind::registered;
  entry.descriptor = allocated ? memory_->descriptor(name) : -1;
  entry.size = memory.size();
  entry.base = reinterpret_cast<std::uint64_t>(memory.data());
  // Pairs with the look of visitors: whoever finds this generation finds what was written above.
  entry.generation.store(name.generation, std::memory_order_release);
  // Peers read all of it here, and believe nothing that a key claims.
  return {};
}

void ShmNetwork::release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept {
  RegionEntry& entry = segment_->mapping().region(name.index);
  entry.generation.store(0, std::memory_order_seq_cst);
  const auto deadline = std::chrono::steady_clock::now() + kLongestVisit;
  while (entry.visitors.load(std::memory_order_seq_cst) != 0) {
    if (std::chrono::steady_clock::now() > deadline) break;
    ::sched_yield();
  }
  if (allocated) memory_->release(name, memory.size());
}

const detail::DirectWindow* ShmNetwork::map_memory(int rank, const RemoteMemory& memory) {
  // Who has a key has heard of its owner: a contact that fails was tried a moment ago.
  const Peer* peer = peers_.contact(rank);
  for (const auto end = std::chrono::steady_clock::now() + kContact;
       peer == nullptr && !peers_.departed(rank) && std::chrono::steady_clock::now() < end;
       peer = peers_.contact(rank))
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  if (peer == nullptr || memory.region.index >= peer->mapping->header().regions_max) return nullptr;
  RegionEntry& entry = peer->mapping->region(memory.region.index);
  const RegionVisit visit(entry);
  if (memory.region.generation == 0 || !visit.is_open(memory.region) || entry.kind != RegionKind::allocated)
    return nullptr;
  const detail::DirectWindow* window = remote_windows_.map(*peer, memory.region, entry, true);
  return window != nullptr && window->base != nullptr ? window : nullptr;
}

}  // namespace weft::network::shm
