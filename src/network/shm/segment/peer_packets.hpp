// Packets of one peer that messages of this rank hold.
#pragma once

#include "network/shm/segment/peers.hpp"

#include <weft/message.hpp>

#include <atomic>

namespace weft::network::shm {

/// Lends packets of a peer during delivery, lets messages hold up to a quota of them, and returns them. Any
/// thread.
class PeerPackets final : public detail::PayloadLender, public PayloadOwner {
 public:
  /// Beyond `quota` packets, payloads are kept by `copier` instead.
  PeerPackets(std::uint32_t quota, detail::PayloadLender& copier) noexcept;

  void set_peer(const Peer& peer) noexcept;

  /// The payload of a packet, or nullptr when index or size are impossible.
  [[nodiscard]] const std::byte* resolve(std::uint32_t index, std::uint64_t size) const noexcept;
  /// Returns a packet to its owner. `touch` bytes of it may have been read and not overwritten: from
  /// owned_from() bytes on, one byte of each line is written, so that the owner's next write finds the line
  /// in one cache instead of shared by two.
  void release(std::uint32_t index, std::uint32_t generation, std::size_t touch) const noexcept;

  PayloadOwner* keep(const std::byte*& data, std::size_t size, std::uint64_t& cookie) noexcept override;
  std::byte* allocate(std::size_t) noexcept override { return nullptr; }
  void release(std::byte* data, std::size_t size, std::uint64_t cookie) noexcept override;

  /// The number of packets that messages hold.
  [[nodiscard]] std::uint32_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

  [[nodiscard]] static constexpr std::uint64_t cookie_of(std::uint32_t index,
                                                         std::uint32_t generation) noexcept {
    return std::uint64_t{generation} << 32 | index;
  }

 private:
  const std::uint32_t quota_;
  detail::PayloadLender& copier_;
  std::atomic<const Mapping*> mapping_{nullptr};
  std::atomic<std::uint32_t> held_{0};
};

}  // namespace weft::network::shm
