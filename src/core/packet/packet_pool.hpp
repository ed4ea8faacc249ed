// The pool of pre-registered buffers of a runtime.
#pragma once

#include <weft/message.hpp>
#include <weft/packet.hpp>

#include "concurrent/magazine.hpp"
#include "concurrent/thread_number.hpp"
#include "core/packet/bulk_packets.hpp"
#include "network/network.hpp"

#include <weft/options.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weft::core {

/// Bounded in total. Each thread has a magazine of its own; packets that exceed it go to shards under
/// try-locks, where any thread may take them. A thread that finds no packet there, and none returned by
/// peers, empties the magazines of other threads, which may be idle or have ended: a thread that needs a
/// packet gets any unused one. Where the kernel has no barrier for that (membarrier(2)) there are no
/// magazines. Any thread.
class PacketPool final : public detail::PacketSource, public detail::PayloadLender, public PayloadOwner {
 public:
  /// `magazine`: packets that a thread may keep for itself, 1 to 64. `bulk`: packets that bulk may have in
  /// use, or three quarters of the pool if that is less.
  explicit PacketPool(std::uint32_t magazine, std::uint32_t bulk = ~std::uint32_t{0}) noexcept
      : magazine_limit_(detail::ProcessThreads::have_barrier() ? magazine : 0), bulk_limit_(bulk) {}
  /// Takes over the network's packet memory; once, before anything else.
  void attach(network::Network& network);
  /// The runtime ends, which `owner` names: "Runtime (rank 0 of 2, job 1f)". A Packet that comes back later
  /// ends the program with one line. Returns the number of packets that are missing: neither in the pool nor
  /// with a peer that they were sent to. The program keeps them, or they are lost.
  std::uint32_t end(std::string owner);
  /// The sum of what end() has returned in this process. For tests.
  [[nodiscard]] static std::uint64_t missing_so_far() noexcept;
  /// Deletes a pool, but not one to which packets may come back after end().
  struct End {
    void operator()(PacketPool* pool) const noexcept;
  };
  /// The number of payloads that messages hold in packets of this pool.
  [[nodiscard]] std::uint32_t kept() const noexcept { return kept_.load(std::memory_order_relaxed); }

  /// Returns a packet, or none when all are in use, or in transit from one place to another at this moment.
  [[nodiscard]] Packet get() noexcept {
    const std::uint32_t thread = concurrent::known_thread_number();
    if (thread < kMagazines) [[likely]] {
      std::uint32_t index = 0;
      if (magazines_[thread].take(index)) [[likely]]
        return packet(index);
    }
    return get_slowly();
  }
  void put_packet(std::uint32_t index) noexcept override;
  /// Returns the packet that begins at the address, which the caller owns from now on; none where no packet
  /// begins. A payload that keep() has copied into a packet counts as that packet.
  [[nodiscard]] Packet packet_of(const void* address) noexcept;
  /// Returns a packet for a message of a class, or none when the pool or the class's share of it is in use.
  [[nodiscard]] Packet get_for(MessageClass message_class) noexcept {
    return message_class == MessageClass::bulk ? get_from_share(BulkPackets::Use::message) : get();
  }
  /// Returns a packet for a fragment of a large message, or none as get_for().
  [[nodiscard]] Packet get_for_fragment() noexcept { return get_from_share(BulkPackets::Use::fragment); }
  [[nodiscard]] const BulkPackets& bulk() const noexcept { return bulk_; }

  [[nodiscard]] std::byte* data(std::uint32_t index) const noexcept {
    return memory_.base + index * memory_.stride;
  }
  /// The number of bytes that users and protocols may put into a packet, not counting a trailer.
  [[nodiscard]] std::size_t payload() const noexcept {
    return memory_.payload - network::Network::kPacketTrailer;
  }

  /// Copies a payload into a packet of this pool, so that it outlives its delivery. Uses a quarter of the
  /// pool at most: stored messages must not keep this rank from sending.
  PayloadOwner* keep(const std::byte*& data, std::size_t size, std::uint64_t& cookie) noexcept override;
  std::byte* allocate(std::size_t) noexcept override { return nullptr; }
  void release(std::byte* data, std::size_t size, std::uint64_t cookie) noexcept override;

 private:
  static constexpr std::uint32_t kMagazines = 256;  // threads with higher numbers go to the shards
  static_assert(kMagazines <= concurrent::kReusedNumbers, "magazines have one owner at a time");
  static constexpr std::uint32_t kMagazineSize = 64;
  static constexpr std::uint32_t kShards = 8;

  struct alignas(64) Magazine : concurrent::Magazine<std::uint32_t, kMagazineSize> {};
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
  [[nodiscard]] std::uint32_t count_unused() noexcept;
  [[nodiscard]] std::uint32_t refill(std::uint32_t thread) noexcept;
  [[nodiscard]] std::uint32_t take_from_shards(std::uint32_t thread) noexcept;
  [[nodiscard]] std::uint32_t take_from_magazines(std::uint32_t thread) noexcept;
  [[nodiscard]] std::uint32_t share_out(const std::uint32_t* indices, std::uint32_t count,
                                        std::uint32_t thread) noexcept;
  void spill(const std::uint32_t* indices, std::uint32_t count, std::uint32_t thread) noexcept;

  network::Network* network_ = nullptr;
  network::Network::PacketMemory memory_;
  std::uint32_t magazine_limit_;
  const std::uint32_t bulk_limit_;
  BulkPackets bulk_{*this};
  std::atomic<std::uint32_t> kept_{0};
  std::unique_ptr<std::atomic<bool>[]> is_kept_;  // by index
  std::unique_ptr<Magazine[]> magazines_;         // by thread number
  std::array<Shard, kShards> shards_;
  std::string owner_;           // set by end() when packets are outstanding
  bool is_awaited_ = false;     // the runtime has ended, and packets are outstanding
  PacketPool* next_ = nullptr;  // of the pools that are awaited
};

}  // namespace weft::core
