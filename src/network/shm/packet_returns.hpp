// Packets of this rank on their way back from peers.
#pragma once

#include "network/shm/segment.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace weft::network::shm {

/// Peers push what they have read on the segment's return stacks, from where threads of this rank take it.
/// What a peer holds that has failed is put there in its stead: the owner notes in every packet whom it was
/// sent to.
class PacketReturns {
 public:
  explicit PacketReturns(std::shared_ptr<Segment> segment) : segment_(std::move(segment)) {}

  /// Moves indices of packets that have come back into `indices`; returns how many. Any thread. None while
  /// give_back_of() runs.
  std::size_t take(std::span<std::uint32_t> indices) noexcept;

  /// Returns the packets that this peer holds, which never will. Any thread; false: try again, threads are
  /// taking packets. Packets that are sent to the peer meanwhile may be missed.
  [[nodiscard]] bool give_back_of(int peer) noexcept;

  [[nodiscard]] PacketHeader& packet(std::uint32_t index) const noexcept {
    const Mapping& own = segment_->mapping();
    return *reinterpret_cast<PacketHeader*>(own.base() + own.header().packets_offset +
                                            index * own.header().packet_stride);
  }

 private:
  void push_chain(ReturnStack& stack, std::uint32_t top) noexcept;

  static constexpr std::uint32_t kReturning = 1U << 31;
  const std::shared_ptr<Segment> segment_;
  // Threads that are taking, or kReturning: what one has taken from a stack and not yet marked as its own
  // must not look as if the peer held it.
  alignas(64) std::atomic<std::uint32_t> inside_{0};
};

}  // namespace weft::network::shm
