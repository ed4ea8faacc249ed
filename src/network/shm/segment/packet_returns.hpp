// Packets of this rank that peers return.
#pragma once

#include "network/shm/segment/segment.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace weft::network::shm {

/// Peers push the packets that they have read onto the segment's return stacks, and threads of this rank take
/// them from there. Packets that a failed peer holds are pushed by this rank in its stead: the owner notes in
/// every packet the peer that it was sent to.
class PacketReturns {
 public:
  explicit PacketReturns(std::shared_ptr<Segment> segment) : segment_(std::move(segment)) {}

  /// Moves indices of returned packets into `indices`; returns their number. Any thread. Takes none while
  /// release_of() runs.
  std::size_t take(std::span<std::uint32_t> indices) noexcept;

  /// Returns the packets that a peer holds which will never return them. Any thread. Returns false when
  /// threads are taking packets; the call must then be repeated. Packets that are sent to the peer meanwhile
  /// may be missed.
  [[nodiscard]] bool release_of(int peer) noexcept;

  /// The number of packets that were sent to peers and have not been taken back.
  [[nodiscard]] std::uint32_t away() const noexcept;

  [[nodiscard]] PacketHeader& packet(std::uint32_t index) const noexcept {
    const Mapping& own = segment_->mapping();
    return *reinterpret_cast<PacketHeader*>(own.base() + own.header().packets_offset +
                                            index * own.header().packet_stride);
  }

 private:
  void push_chain(ReturnStack& stack, std::uint32_t top) noexcept;

  static constexpr std::uint32_t kReturning = 1U << 31;
  const std::shared_ptr<Segment> segment_;
  // The number of threads in take(), or kReturning: a packet that a thread has taken from a stack and not yet
  // marked must not be counted as held by the peer.
  alignas(64) std::atomic<std::uint32_t> inside_{0};
};

}  // namespace weft::network::shm
