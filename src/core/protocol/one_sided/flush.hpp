// Flush epochs: the one-sided accesses that a flush has to wait for.
#pragma once

#include <weft/completion/completion.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace weft::core {

/// Counts the accesses in progress to each peer in two epochs, so that a flush ends although other threads go
/// on posting: new accesses count in the newer epoch, which becomes the older one once that is empty, and so
/// on. Any thread.
class Flushes {
 public:
  explicit Flushes(int ranks) : peers_(new Peer[static_cast<std::size_t>(ranks)]) {}

  /// Counts an access; returns its epoch, for leave().
  [[nodiscard]] std::uint8_t enter(int peer) noexcept {
    Peer& counts = at(peer);
    const auto epoch = static_cast<std::uint8_t>(counts.epoch.load(std::memory_order_relaxed) & 1);
    counts.under_way[epoch].fetch_add(1, std::memory_order_relaxed);
    return epoch;
  }
  void leave(int peer, std::uint8_t epoch) noexcept {
    // Pairs with the acquire in is_over(): what the access did is visible to the thread that has flushed.
    if (at(peer).under_way[epoch].fetch_sub(1, std::memory_order_acq_rel) == 1) waiters_.wake();
  }

  /// Begins a flush; returns a value for is_over().
  [[nodiscard]] std::uint32_t begin(int peer) noexcept {
    return at(peer).epoch.load(std::memory_order_relaxed);
  }
  /// Returns true when every access that was counted before the begin() that returned `first` has ended.
  [[nodiscard]] bool is_over(int peer, std::uint32_t first) noexcept {
    Peer& counts = at(peer);
    for (;;) {
      // Pairs with the release below: the thread that moved the epoch has seen the older one empty. Two moves
      // are one of each epoch; the first of them may rest on a load from before begin().
      std::uint32_t epoch = counts.epoch.load(std::memory_order_acquire);
      if (epoch - first >= 3) return true;
      if (counts.under_way[(epoch + 1) & 1].load(std::memory_order_acquire) != 0) return false;
      if (counts.under_way[epoch & 1].load(std::memory_order_acquire) == 0) return true;
      counts.epoch.compare_exchange_strong(epoch, epoch + 1, std::memory_order_acq_rel);
    }
  }

  /// A thread parks on this object while it flushes.
  [[nodiscard]] Completion& waiters() noexcept { return waiters_; }

 private:
  struct Peer {
    std::atomic<std::uint32_t> epoch{0};
    std::atomic<std::uint32_t> under_way[2] = {0, 0};
  };
  struct Waiters final : Completion {
    void signal(Message&) noexcept override {}
    [[nodiscard]] bool ready() const noexcept override { return false; }
    void wake() const noexcept { notify_waiters(); }
  };

  [[nodiscard]] Peer& at(int peer) noexcept { return peers_[static_cast<std::size_t>(peer)]; }

  const std::unique_ptr<Peer[]> peers_;
  Waiters waiters_;
};

}  // namespace weft::core
