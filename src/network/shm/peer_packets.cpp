#include "network/shm/peer_packets.hpp"

namespace weft::network::shm {

namespace {

/// Whether whoever has read a payload should also write into each of its lines, so that its owner finds them
/// in one cache. docs/decisions/008 has the figures.
const bool kOwnsWhatItRead = [] {
  __builtin_cpu_init();
  return __builtin_cpu_is("amd") != 0;
}();
constexpr std::size_t kOwnsFrom = 32 * 1024;  // bytes: chunks of streams, which are what gains by it

PacketHeader& packet_header(const Mapping& mapping, std::uint32_t index) noexcept {
  const SegmentHeader& header = mapping.header();
  return *reinterpret_cast<PacketHeader*>(mapping.base() + header.packets_offset +
                                          index * header.packet_stride);
}

}  // namespace

void PeerPackets::set_peer(const Peer& peer) noexcept {
  mapping_.store(peer.mapping.get(), std::memory_order_relaxed);
}

const std::byte* PeerPackets::resolve(std::uint32_t index, std::uint64_t size) const noexcept {
  const Mapping& mapping = *mapping_.load(std::memory_order_relaxed);
  const SegmentHeader& header = mapping.header();
  if (index >= header.packet_count || size > header.packet_payload) return nullptr;
  return reinterpret_cast<const std::byte*>(&packet_header(mapping, index) + 1);
}

void PeerPackets::give_back(std::uint32_t index, std::uint32_t generation, std::size_t touch) const noexcept {
  const Mapping& mapping = *mapping_.load(std::memory_order_relaxed);
  PacketHeader& packet = packet_header(mapping, index);
  if (packet.generation.load(std::memory_order_relaxed) != generation) return;
  if (kOwnsWhatItRead && touch >= kOwnsFrom) {
    auto* payload = reinterpret_cast<volatile std::byte*>(&packet + 1);
    for (std::size_t offset = 0; offset < touch; offset += 64) payload[offset] = std::byte{0};
  }
  auto& head = mapping.header().returns[index % kReturnStacks].head;
  std::uint32_t top = head.load(std::memory_order_relaxed);
  do {
    packet.next.store(top, std::memory_order_relaxed);
    // Pairs with the acquire in ShmNetwork::reclaim_packets: the reads of the payload are over.
  } while (!head.compare_exchange_weak(top, index + 1, std::memory_order_release, std::memory_order_relaxed));
}

PayloadOwner* PeerPackets::keep(const std::byte*& data, std::size_t size, std::uint64_t& cookie) noexcept {
  if (held_.fetch_add(1, std::memory_order_relaxed) < quota_) return this;
  held_.fetch_sub(1, std::memory_order_relaxed);
  return copier_.keep(data, size, cookie);
}

void PeerPackets::release(std::byte*, std::size_t size, std::uint64_t cookie) noexcept {
  give_back(static_cast<std::uint32_t>(cookie), static_cast<std::uint32_t>(cookie >> 32), size);
  held_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weft::network::shm
