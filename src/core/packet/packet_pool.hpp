// The pool of pre-registered buffers of a runtime.
#pragma once

#include <weft/message.hpp>
#include <weft/packet.hpp>

#include "concurrent/thread_number.hpp"
#include "core/packet/bulk_packets.hpp"
#include "network/network.hpp"

#include <weft/options.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace weft::core {

/// Bounded in total. Each thread has a private magazine that no other thread touches; what exceeds it goes
/// to shards under try-locks, where any thread may take it; what peers hold is reclaimed when those are
/// empty. Any thread.
class PacketPool final : public detail::PacketSource, public detail::PayloadLender, public PayloadOwner {
 public:
  /// `magazine`: packets that a thread may keep for itself, 1 to 64.
  /// `bulk`: packets that bulk may have in use, or three quarters of the pool if that is less.
  explicit PacketPool(std::uint32_t magazine, std::uint32_t bulk = ~std::uint32_t{0}) noexcept
      : magazine_limit_(magazine), bulk_limit_(bulk) {}
  /// Takes over the network's packet memory; once, before anything else.
  void attach(network::Network& network);

  /// A packet, or none when all are in use.
  [[nodiscard]] Packet get() noexcept {
    const std::uint32_t thread = concurrent::known_thread_number();
    if (thread < kMagazines) [[likely]] {
      Magazine& magazine = *magazines_[thread].load(std::memory_order_relaxed);
      if (magazine.count > 0) [[likely]]
        return packet(magazine.indices[--magazine.count]);
    }
    return get_slowly();
  }
  void put_packet(std::uint32_t index) noexcept override;
  /// A packet for a message of a class, or none when the pool or the class's share of it is in use.
  [[nodiscard]] Packet get_for(MessageClass message_class) noexcept {
    return message_class == MessageClass::bulk ? get_from_share(BulkPackets::Use::message) : get();
  }
  /// The same for a piece of a large message.
  [[nodiscard]] Packet get_for_chunk() noexcept { return get_from_share(BulkPackets::Use::chunk); }
  [[nodiscard]] const BulkPackets& bulk() const noexcept { return bulk_; }

  [[nodiscard]] std::byte* data(std::uint32_t index) const noexcept {
    return memory_.base + index * memory_.stride;
  }
  /// What users and protocols put into a packet, not counting a trailer.
  [[nodiscard]] std::size_t payload() const noexcept {
    return memory_.payload - network::Network::kPacketTrailer;
  }

  /// Copies a payload into a packet of this pool, so that it outlives its delivery. A quarter of the pool at
  /// most: messages at rest must not keep this rank from sending.
  PayloadOwner* keep(const std::byte*& data, std::size_t size, std::uint64_t& cookie) noexcept override;
  std::byte* allocate(std::size_t) noexcept override { return nullptr; }
  void release(std::byte* data, std::size_t size, std::uint64_t cookie) noexcept override;

 private:
  static constexpr std::uint32_t kMagazines = 256;  // threads with higher numbers go to the shards
  static constexpr std::uint32_t kMagazineSize = 64;
  static constexpr std::uint32_t kShards = 8;

  struct alignas(64) Magazine {
    std::uint32_t count = 0;
    std::array<std::uint32_t, kMagazineSize> indices;
  };
  struct alignas(64) Shard {
    std::atomic<std::uint32_t> lock{0};
    std::uint32_t count = 0;
    std::unique_ptr<std::uint32_t[]> indices;  // room for every packet
  };

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  [[nodiscard]] Packet packet(std::uint32_t index) noexcept { return {data(index), payload(), index, this}; }
  [[nodiscard]] Packet get_slowly() noexcept;
  [[nodiscard]] Packet get_from_share(BulkPackets::Use use) noexcept;
  [[nodiscard]] std::size_t reclaim(std::span<std::uint32_t> indices) noexcept;
  void put_slowly(std::uint32_t index) noexcept;
  [[nodiscard]] std::uint32_t refill(Magazine* magazine, std::uint32_t thread) noexcept;
  std::uint32_t take_from(Shard& shard, Magazine* magazine) noexcept;
  void spill(const std::uint32_t* indices, std::uint32_t count, std::uint32_t thread) noexcept;

  network::Network* network_ = nullptr;
  network::Network::PacketMemory memory_;
  const std::uint32_t magazine_limit_;
  const std::uint32_t bulk_limit_;
  BulkPackets bulk_{*this};
  std::atomic<std::uint32_t> kept_{0};
  std::array<std::atomic<Magazine*>, kMagazines> magazines_{};
  std::array<std::unique_ptr<Magazine>, kMagazines> owned_;
  std::array<Shard, kShards> shards_;
};

}  // namespace weft::core
