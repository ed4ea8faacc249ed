#include "network/shm/segment/packet_returns.hpp"

#include <new>
#include <vector>

namespace weft::network::shm {

std::size_t PacketReturns::take(std::span<std::uint32_t> indices) noexcept {
  SegmentHeader& header = segment_->mapping().header();
  std::size_t count = 0;
  bool is_inside = false;
  for (ReturnStack& stack : header.returns) {
    if (stack.head.load(std::memory_order_relaxed) == 0) continue;
    if (!is_inside) {
      // Pairs with the release in release_of().
      if ((inside_.fetch_add(1, std::memory_order_acquire) & kReturning) != 0) {
        inside_.fetch_sub(1, std::memory_order_relaxed);
        return 0;
      }
      is_inside = true;
    }
    // Pairs with the release in PeerPackets::release.
    std::uint32_t top = stack.head.exchange(0, std::memory_order_acquire);
    while (top != 0 && top <= header.packet_count && count < indices.size()) {
      PacketHeader& returned = packet(top - 1);
      // Makes a second return of the same use invalid: its generation has passed.
      returned.generation.fetch_add(1, std::memory_order_acquire);
      returned.holder.store(0, std::memory_order_relaxed);
      indices[count++] = top - 1;
      top = returned.next.load(std::memory_order_relaxed);
    }
    if (count == indices.size()) {
      // `indices` is full: the rest goes back to the stack, and is taken by the next call.
      push_chain(stack, top);
      break;
    }
  }
  // Pairs with the acquire in release_of().
  if (is_inside) inside_.fetch_sub(1, std::memory_order_release);
  return count;
}

std::uint32_t PacketReturns::away() const noexcept {
  const std::uint32_t packets = segment_->mapping().header().packet_count;
  std::uint32_t count = 0;
  for (std::uint32_t index = 0; index < packets; ++index)
    if (packet(index).holder.load(std::memory_order_relaxed) != 0) ++count;
  return count;
}

/// Pushes a chain packet by packet, because peers push meanwhile.
void PacketReturns::push_chain(ReturnStack& stack, std::uint32_t top) noexcept {
  const std::uint32_t packets = segment_->mapping().header().packet_count;
  for (std::uint32_t left = packets; left > 0 && top != 0 && top <= packets; --left) {
    PacketHeader& rest = packet(top - 1);
    const std::uint32_t below = rest.next.load(std::memory_order_relaxed);
    std::uint32_t head = stack.head.load(std::memory_order_relaxed);
    do {
      rest.next.store(head, std::memory_order_relaxed);
    } while (
        !stack.head.compare_exchange_weak(head, top, std::memory_order_release, std::memory_order_relaxed));
    top = below;
  }
}

bool PacketReturns::release_of(int peer) noexcept try {
  SegmentHeader& header = segment_->mapping().header();
  std::vector<bool> has_come_back(header.packet_count);
  std::uint32_t nobody = 0;
  // Pairs with the release in take(): packets that threads have taken are marked.
  if (!inside_.compare_exchange_strong(nobody, kReturning, std::memory_order_acquire)) return false;
  for (ReturnStack& stack : header.returns) {
    const std::uint32_t all = stack.head.exchange(0, std::memory_order_acquire);
    std::uint32_t top = all;
    for (std::uint32_t left = header.packet_count; left > 0 && top != 0 && top <= header.packet_count;
         --left) {
      has_come_back[top - 1] = true;
      top = packet(top - 1).next.load(std::memory_order_relaxed);
    }
    push_chain(stack, all);
  }
  for (std::uint32_t index = 0; index < header.packet_count; ++index) {
    PacketHeader& held = packet(index);
    if (has_come_back[index] ||
        held.holder.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(peer) + 1)
      continue;
    held.holder.store(0, std::memory_order_relaxed);
    held.next.store(0, std::memory_order_relaxed);
    push_chain(header.returns[index % kReturnStacks], index + 1);
  }
  // Pairs with the acquire in take().
  inside_.fetch_sub(kReturning, std::memory_order_release);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace weft::network::shm
