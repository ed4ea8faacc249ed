// The segments of peers: found through the bootstrap, mapped at first contact.
#pragma once

#include "base/log.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/shm/allocated_memory.hpp"
#include "network/shm/segment.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace weft::network::shm {

/// One peer as this rank sees it.
struct Peer {
  int rank = -1;
  std::int32_t process = 0;
  bool same_process = false;
  bool can_read = false;  // cross-memory attach was tried and works
  std::shared_ptr<const Mapping> mapping;
  std::shared_ptr<const AllocatedMemory> memory;  // of a rank of this process

  [[nodiscard]] bool gone() const noexcept {
    return mapping->header().presence.load(std::memory_order_acquire) == Presence::closed;
  }
};

/// What a rank publishes so that peers find its segment.
struct Address {
  std::uint64_t boot_id;        // of the kernel: equal on one host only
  std::uint64_t pid_namespace;  // descriptors can only be opened inside one
  std::int32_t process;
  std::int32_t descriptor;
  std::uint64_t bytes;
  std::uint64_t probe;  // address of the segment's header in the process, for probing cross-memory attach
};

class Peers {
 public:
  Peers(bootstrap::Bootstrap& bootstrap, std::shared_ptr<Segment> own,
        std::shared_ptr<AllocatedMemory> memory, const base::Log& log);

  /// The peer, or nullptr while it has not joined yet, or when it has departed(). The first successful call
  /// maps its segment; calls for ranks that are not there yet ask the bootstrap at most once per millisecond.
  [[nodiscard]] const Peer* contact(int rank) noexcept {
    const Peer* peer = table_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
    return peer != nullptr ? peer : contact_slow(rank);
  }
  /// Whether the rank has left before it was ever contacted.
  [[nodiscard]] bool departed(int rank) const noexcept {
    return departed_[static_cast<std::size_t>(rank)].load(std::memory_order_relaxed);
  }
  /// The rank's process has ended without closing its segment. This rank does that in its stead, so that its
  /// own threads, whatever they look at before they post, find nothing open.
  void mark_failed(int rank) noexcept;
  [[nodiscard]] int size() const noexcept { return static_cast<int>(table_.size()); }

 private:
  const Peer* contact_slow(int rank) noexcept;
  std::unique_ptr<Peer> open(int rank);

  bootstrap::Bootstrap& bootstrap_;
  const base::Log log_;
  std::shared_ptr<Segment> own_;
  std::shared_ptr<AllocatedMemory> memory_;
  std::vector<std::atomic<const Peer*>> table_;  // published with release
  std::vector<std::atomic<bool>> departed_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<Peer>> owned_;
  std::vector<std::chrono::steady_clock::time_point> next_try_;
};

}  // namespace weft::network::shm
