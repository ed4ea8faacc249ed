// The share of the packet pool that bulk may have in use.
#pragma once

#include <weft/packet.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace weft::core {

/// Counts the packets that were taken for bulk and have not come back: to the pool, when they were not sent,
/// or from the peers they were sent to. Chunks of large messages may use the whole share, messages of the
/// class bulk three quarters of it: a payload that was asked for never waits for packets that lie in a lane
/// whose receiver refuses them. Any thread.
class BulkPackets final : public detail::PacketSource {
 public:
  enum class Use : std::uint8_t { message, chunk };

  explicit BulkPackets(detail::PacketSource& pool) noexcept : pool_(pool) {}

  /// Once, before anything else: a pool of `packets`, of which `share` may be in use here.
  void set_up(std::uint32_t packets, std::uint32_t share) {
    is_bulk_ = std::make_unique<std::atomic<bool>[]>(packets);
    share_ = share;
  }

  /// Makes room for one packet. False: the share is in use.
  [[nodiscard]] bool admit(Use use) noexcept {
    const std::uint32_t limit = use == Use::chunk ? share_ : share_ - share_ / 4;
    if (in_use_.fetch_add(1, std::memory_order_relaxed) < limit) return true;
    in_use_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  /// The room that was admitted is not needed.
  void dismiss() noexcept { in_use_.fetch_sub(1, std::memory_order_relaxed); }
  /// The packet that has the room that was admitted; the caller has it.
  void mark(std::uint32_t index) noexcept { is_bulk_[index].store(true, std::memory_order_relaxed); }
  /// A packet has come back from a peer; whoever has it calls this before it is used again.
  void came_back(std::uint32_t index) noexcept {
    if (!is_bulk_[index].load(std::memory_order_relaxed)) return;
    is_bulk_[index].store(false, std::memory_order_relaxed);
    in_use_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// A packet that was not sent goes back to the pool.
  void put_packet(std::uint32_t index) noexcept override {
    came_back(index);
    pool_.put_packet(index);
  }
  /// Whether packets that come back may be bulk's.
  [[nodiscard]] bool any() const noexcept { return in_use_.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] std::uint32_t in_use() const noexcept { return in_use_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t share() const noexcept { return share_; }

 private:
  detail::PacketSource& pool_;
  std::uint32_t share_ = 0;
  std::unique_ptr<std::atomic<bool>[]> is_bulk_;  // by packet; of whoever has it
  alignas(64) std::atomic<std::uint32_t> in_use_{0};
};

}  // namespace weft::core
