// The share of the packet pool that the class bulk may have in use.
#pragma once

#include <weft/packet.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace weft::core {

/// Counts the packets that were taken for bulk and have not come back: to the pool, when they were not sent,
/// or from the peers they were sent to. Fragments of large messages may use the whole share, messages of the
/// class bulk three quarters of it: a payload that was asked for never waits for packets that lie in a lane
/// whose receiver refuses them. Any thread.
class BulkPackets final : public detail::PacketSource {
 public:
  enum class Use : std::uint8_t { message, fragment };

  explicit BulkPackets(detail::PacketSource& pool) noexcept : pool_(pool) {}

  /// Called once, before anything else: a pool of `packets`, of which bulk may have `share` in use.
  void set_up(std::uint32_t packets, std::uint32_t share) {
    is_bulk_ = std::make_unique<std::atomic<bool>[]>(packets);
    share_ = share;
  }

  /// Admits one packet. Returns false when the share is in use.
  [[nodiscard]] bool admit(Use use) noexcept {
    const std::uint32_t limit = use == Use::fragment ? share_ : share_ - share_ / 4;
    if (in_use_.fetch_add(1, std::memory_order_relaxed) < limit) return true;
    in_use_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  /// Undoes an admit() that was not needed.
  void dismiss() noexcept { in_use_.fetch_sub(1, std::memory_order_relaxed); }
  /// Marks the packet, which the caller owns, as the admitted one.
  void mark(std::uint32_t index) noexcept { is_bulk_[index].store(true, std::memory_order_relaxed); }
  /// A packet has come back from a peer; its new owner calls this before it is used again.
  void came_back(std::uint32_t index) noexcept {
    if (!is_bulk_[index].load(std::memory_order_relaxed)) return;
    is_bulk_[index].store(false, std::memory_order_relaxed);
    in_use_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// Returns a packet that was not sent to the pool.
  void put_packet(std::uint32_t index) noexcept override {
    came_back(index);
    pool_.put_packet(index);
  }
  /// Returns true when packets that come back may be bulk's.
  [[nodiscard]] bool any() const noexcept { return in_use_.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] std::uint32_t in_use() const noexcept { return in_use_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t share() const noexcept { return share_; }

 private:
  detail::PacketSource& pool_;
  std::uint32_t share_ = 0;
  std::unique_ptr<std::atomic<bool>[]> is_bulk_;  // by packet; written by its owner
  alignas(64) std::atomic<std::uint32_t> in_use_{0};
};

}  // namespace weft::core
