#include "network/shm/memory/remote_windows.hpp"

#include "network/shm/segment/peer_descriptor.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <new>
#include <string>

namespace weft::network::shm {

namespace {

/// Maps a region. Returns nullptr when this process may not map it.
std::shared_ptr<const RegionMapping> open_mapping(const Peer& peer, RegionName name, int descriptor,
                                                  std::uint64_t size) {
  if (peer.same_process) return peer.memory == nullptr ? nullptr : peer.memory->mapping(name);
  try {
    base::Descriptor file;
    if (peer.can_open) file = open_of_process(peer.process, descriptor);
    if (!file) file = peer.bootstrap->borrow(peer.rank, region_key(name));
    if (file && is_region_file(file.get(), size))
      return std::make_shared<const RegionMapping>(file.get(), size, RegionMapping::Of::peer);
  } catch (const Error&) {
    // No address space, too many mappings, or no launcher any more: the region is then reached by messages.
  }
  return nullptr;
}

/// Returns true when the owner has released the region of `generation`. A region of a rank that has failed is
/// closed, but not released: its content can still be read.
bool is_released(const RegionEntry& entry, std::uint32_t generation) noexcept {
  const std::uint32_t now = entry.generation.load(std::memory_order_acquire);
  if (now == generation) return false;
  // Pairs with the release in ShmNetwork::release_memory().
  return now != 0 || entry.released.load(std::memory_order_acquire) == generation;
}

}  // namespace

/// Returns the region's record, which is made at first use. Throws std::bad_alloc.
RemoteWindows::Record& RemoteWindows::record_of(const Peer& peer, std::uint32_t index) {
  auto& published = directories_[static_cast<std::size_t>(peer.rank)];
  auto* directory = const_cast<Directory*>(published.load(std::memory_order_relaxed));
  if (directory == nullptr) {
    owned_directories_.push_back(
        std::make_unique<Directory[]>(peer.mapping->header().regions_max / kChunk + 1));
    directory = owned_directories_.back().get();
    published.store(directory, std::memory_order_release);
  }
  Chunk* chunk = directory[index / kChunk].load(std::memory_order_relaxed);
  if (chunk == nullptr) {
    owned_chunks_.push_back(std::make_unique<Chunk>());
    chunk = owned_chunks_.back().get();
    directory[index / kChunk].store(chunk, std::memory_order_release);
  }
  return (*chunk)[index % kChunk];
}

RemoteWindows::Found RemoteWindows::map(const Peer& peer, RegionName name, RegionEntry& entry,
                                        bool wait) noexcept try {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (wait)
    lock.lock();
  else if (!lock.try_lock())
    return {};
  if (const Found known = find(peer, name); known.is_known) return known;
  if (live_.size() >= sweep_at_ || is_sweep_due()) sweep_locked();
  Record& record = record_of(peer, name.index);
  live_.reserve(live_.size() + 1);
  const bool is_listed = record.mapping != nullptr;  // by an earlier region with this index
  withdraw(record);
  auto mapping = open_mapping(peer, name, entry.descriptor, entry.size);
  // Before the visit ends: the owner notifies the ranks whose bits it then finds.
  const std::uint32_t bit = RegionEntry::mapper_bit(rank_);
  entry.mappers[bit / 32].fetch_or(1U << bit % 32, std::memory_order_relaxed);
  record.base.store(mapping != nullptr ? mapping->base() : nullptr, std::memory_order_relaxed);
  record.size.store(entry.size, std::memory_order_relaxed);
  record.mapping = std::move(mapping);
  if (is_listed && record.mapping == nullptr)
    std::erase_if(live_, [&](const Live& live) { return live.record == &record; });
  else if (!is_listed && record.mapping != nullptr)
    live_.push_back({&record, &entry});
  record.generation.store(name.generation, std::memory_order_release);
  return look(peer, record, name);
} catch (const std::bad_alloc&) {
  return {};
}

/// Makes the record that of no region; a reader that has begun notices it. Under the mutex.
void RemoteWindows::withdraw(Record& record) noexcept {
  record.generation.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  if (record.mapping != nullptr) record.mapping->keep_addresses();
  record.mapping.reset();
}

bool RemoteWindows::sweep(bool wait) noexcept {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (wait)
    lock.lock();
  else if (!lock.try_lock())
    return false;
  sweep_locked();
  return true;
}

void RemoteWindows::sweep_locked() noexcept {
  // First of all, so that a release from here on sets the flag again. Pairs with the exchange of the owner.
  own_->mapping().header().regions_released.exchange(0, std::memory_order_acquire);
  std::erase_if(live_, [](const Live& live) {
    if (!is_released(*live.entry, live.record->generation.load(std::memory_order_relaxed))) return false;
    withdraw(*live.record);
    return true;
  });
  sweep_at_ = std::max<std::size_t>(kChunk, 2 * live_.size());
}

}  // namespace weft::network::shm
