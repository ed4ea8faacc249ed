// The regions of peers as this rank reaches them.
#pragma once

#include "network/shm/peers.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::network::shm {

/// Holds a peer's region in place: as long as it lives, the owner does not finish releasing it.
class RegionVisit {
 public:
  explicit RegionVisit(RegionEntry& entry) noexcept : entry_(entry) {
    // Ordered before the look at the generation; pairs with ShmNetwork::release_memory, where it is the other
    // way round: either the owner sees the visit, or the visitor sees the region closed.
    entry_.visitors.fetch_add(1, std::memory_order_seq_cst);
  }
  ~RegionVisit() {
    // Pairs with the acquire in release_memory: the access is over.
    entry_.visitors.fetch_sub(1, std::memory_order_release);
  }
  RegionVisit(const RegionVisit&) = delete;
  RegionVisit& operator=(const RegionVisit&) = delete;

  [[nodiscard]] bool is_open(RegionName name) const noexcept {
    return entry_.generation.load(std::memory_order_seq_cst) == name.generation;
  }

 private:
  RegionEntry& entry_;
};

/// Mappings of allocated regions, made by need and kept as long as the network.
class RemoteWindows {
 public:
  explicit RemoteWindows(int ranks) : rows_(static_cast<std::size_t>(ranks)) {}

  /// The window on a region that has been mapped, or nullptr. One that cannot be mapped has no base.
  [[nodiscard]] const detail::DirectWindow* find(const Peer& peer, RegionName name) const noexcept {
    // Both pair with the releases in map().
    const auto* row = rows_[static_cast<std::size_t>(peer.rank)].load(std::memory_order_acquire);
    if (row == nullptr) return nullptr;
    const detail::DirectWindow* window = row[name.index].load(std::memory_order_acquire);
    return window != nullptr && window->generation == name.generation ? window : nullptr;
  }
  /// Maps a region that is open and allocated while the caller visits it. nullptr: another thread is mapping
  /// and `wait` is false, or there is no memory.
  const detail::DirectWindow* map(const Peer& peer, RegionName name, const RegionEntry& entry,
                                  bool wait) noexcept;

 private:
  using Row = std::atomic<const detail::DirectWindow*>;
  struct Window : detail::DirectWindow {
    std::shared_ptr<const RegionMapping> mapping;
  };

  std::vector<std::atomic<const Row*>> rows_;  // by rank, then index; null until the first region is mapped
  std::mutex mutex_;                           // guards what follows
  std::vector<std::unique_ptr<Row[]>> owned_rows_;
  std::vector<std::unique_ptr<Window>> windows_;
};

}  // namespace weft::network::shm
