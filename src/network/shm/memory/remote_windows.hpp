// Windows by which this rank reaches the regions of peers.
#pragma once

#include "network/shm/segment/peers.hpp"

#include <weft/detail/direct_window.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::network::shm {

/// Holds a peer's region open for an access: the owner does not finish releasing it while the object lives.
class RegionVisit {
 public:
  explicit RegionVisit(RegionEntry& entry) noexcept : entry_(entry) {
    // Ordered before the load of the generation; pairs with ShmNetwork::release_memory(), where the order is
    // reversed: either the owner sees the visit, or the peer sees the region closed.
    entry_.attached.fetch_add(1, std::memory_order_seq_cst);
  }
  ~RegionVisit() {
    // Pairs with the acquire in release_memory: the access is over.
    entry_.attached.fetch_sub(1, std::memory_order_release);
  }
  RegionVisit(const RegionVisit&) = delete;
  RegionVisit& operator=(const RegionVisit&) = delete;

  [[nodiscard]] bool is_open(RegionName name) const noexcept {
    return entry_.generation.load(std::memory_order_seq_cst) == name.generation;
  }

 private:
  RegionEntry& entry_;
};

/// Mappings of allocated regions. They are made on demand and end with their regions: an owner that releases
/// a region notifies the ranks that have mapped it, and these sweep at their next progress; a rank without
/// progress sweeps when it maps more. A copy of a window then allows no access any more, and its addresses
/// stay harmless (RetiredRanges).
class RemoteWindows {
 public:
  /// `own`: the segment of this rank, where owners announce releases.
  RemoteWindows(int rank, int ranks, std::shared_ptr<const Segment> own)
      : rank_(rank), own_(std::move(own)), directories_(static_cast<std::size_t>(ranks)) {}

  /// Result of a look-up: is_known, and the window. A region that cannot be mapped has a window without a
  /// base.
  struct Found {
    bool is_known = false;
    detail::DirectWindow window;
  };
  [[nodiscard]] Found find(const Peer& peer, RegionName name) const noexcept {
    // Both loads pair with the releases in map().
    const Directory* const directory =
        directories_[static_cast<std::size_t>(peer.rank)].load(std::memory_order_acquire);
    if (directory == nullptr) return {};
    const Chunk* const chunk = directory[name.index / kChunk].load(std::memory_order_acquire);
    return chunk != nullptr ? look(peer, (*chunk)[name.index % kChunk], name) : Found{};
  }
  /// Maps a region that is open and allocated, while the caller visits it. is_known is false when another
  /// thread is mapping and `wait` is false, or when there is no memory for the record.
  Found map(const Peer& peer, RegionName name, RegionEntry& entry, bool wait) noexcept;
  /// Ends the mappings of regions that have been released. Returns false when another thread is mapping and
  /// `wait` is false.
  bool sweep(bool wait) noexcept;
  /// Returns true when an owner has released a region since the last sweep.
  [[nodiscard]] bool is_sweep_due() const noexcept {
    return own_->mapping().header().regions_released.load(std::memory_order_relaxed) != 0;
  }
  /// The number of mappings now, for tests.
  [[nodiscard]] std::size_t live() const noexcept {
    const std::lock_guard lock(mutex_);
    return live_.size();
  }

 private:
  /// One record for each rank and index, never freed, so that readers without a lock stay valid. Written
  /// under the mutex while its generation is 0.
  struct Record {
    std::atomic<std::uint32_t> generation{0};
    std::atomic<std::byte*> base{nullptr};
    std::atomic<std::uint64_t> size{0};
    std::shared_ptr<const RegionMapping> mapping;  // under the mutex
  };
  static constexpr std::uint32_t kChunk = 64;
  using Chunk = std::array<Record, kChunk>;
  using Directory = std::atomic<Chunk*>;
  struct Live {
    Record* record;
    RegionEntry* entry;
  };

  [[nodiscard]] static Found look(const Peer& peer, const Record& record, RegionName name) noexcept {
    // Pairs with the release in map(), and the fence with that in withdraw(): if base and size are from
    // different regions, the generation has changed.
    if (record.generation.load(std::memory_order_acquire) != name.generation) return {};
    const detail::DirectWindow window{record.base.load(std::memory_order_relaxed),
                                      record.size.load(std::memory_order_relaxed),
                                      &peer.mapping->region(name.index).generation, name.generation};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (record.generation.load(std::memory_order_relaxed) != name.generation) return {};
    return {true, window};
  }
  Record& record_of(const Peer& peer, std::uint32_t index);
  static void withdraw(Record& record) noexcept;
  void sweep_locked() noexcept;

  const int rank_;
  const std::shared_ptr<const Segment> own_;
  std::vector<std::atomic<const Directory*>> directories_;  // by rank; null until the first region is mapped
  mutable std::mutex mutex_;                                // guards what follows
  std::vector<std::unique_ptr<Directory[]>> owned_directories_;
  std::vector<std::unique_ptr<Chunk>> owned_chunks_;
  std::vector<Live> live_;  // records with a mapping
  std::size_t sweep_at_ = kChunk;
};

}  // namespace weft::network::shm
