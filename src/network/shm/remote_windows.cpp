#include "network/shm/remote_windows.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <new>
#include <string>

namespace weft::network::shm {

namespace {

/// nullptr when this process may not map it.
std::shared_ptr<const RegionMapping> open_mapping(const Peer& peer, RegionName name, int descriptor,
                                                  std::uint64_t size) {
  if (peer.same_process) return peer.memory == nullptr ? nullptr : peer.memory->mapping(name);
  const std::string path = "/proc/" + std::to_string(peer.process) + "/fd/" + std::to_string(descriptor);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  std::shared_ptr<const RegionMapping> mapping;
  try {
    if (is_region_file(file, size)) mapping = std::make_shared<const RegionMapping>(file, size);
  } catch (const Error&) {
    // No address space: messages reach it all the same.
  }
  ::close(file);
  return mapping;
}

}  // namespace

const detail::DirectWindow* RemoteWindows::map(const Peer& peer, RegionName name, const RegionEntry& entry,
                                               bool wait) noexcept try {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (wait)
    lock.lock();
  else if (!lock.try_lock())
    return nullptr;
  if (const detail::DirectWindow* known = find(peer, name)) return known;
  auto window = std::make_unique<Window>();
  window->size = entry.size;
  window->generation_there = &entry.generation;
  window->generation = name.generation;
  window->mapping = open_mapping(peer, name, entry.descriptor, entry.size);
  if (window->mapping != nullptr) window->base = window->mapping->base();
  auto& published = rows_[static_cast<std::size_t>(peer.rank)];
  const Row* row = published.load(std::memory_order_relaxed);
  if (row == nullptr) {
    owned_rows_.push_back(std::make_unique<Row[]>(peer.mapping->header().regions_max));
    row = owned_rows_.back().get();
    published.store(row, std::memory_order_release);
  }
  windows_.push_back(std::move(window));
  const_cast<Row*>(row)[name.index].store(windows_.back().get(), std::memory_order_release);
  return windows_.back().get();
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace weft::network::shm
