#include "network/shm/segment/peer_packets.hpp"

#include "base/host/processor.hpp"

namespace weft::network::shm {

namespace {

/// PayloadLender::owned_from(). docs/decisions/008 and 021 have the figures.
std::size_t read_owned_from() noexcept {
  constexpr unsigned kZen5 = 26;
  const unsigned family = base::amd_family();
  if (family == 0) return detail::PayloadLender::kNever;
  return family < kZen5 ? std::size_t{1024} : std::size_t{32 * 1024};
}
const std::size_t kOwnedFrom = read_owned_from();

PacketHeader& packet_header(const Mapping& mapping, std::uint32_t index) noexcept {
  const SegmentHeader& header = mapping.header();
  return *reinterpret_cast<PacketHeader*>(mapping.base() + header.packets_offset +
                                          index * header.packet_stride);
}

}  // namespace

PeerPackets::PeerPackets(std::uint32_t quota, detail::PayloadLender& copier) noexcept
    : PayloadLender(kOwnedFrom), quota_(quota), copier_(copier) {}

void PeerPackets::set_peer(const Peer& peer) noexcept {
  mapping_.store(peer.mapping.get(), std::memory_order_relaxed);
}

const std::byte* PeerPackets::resolve(std::uint32_t index, std::uint64_t size) const noexcept {
  const Mapping& mapping = *mapping_.load(std::memory_order_relaxed);
  const SegmentHeader& header = mapping.header();
  if (index >= header.packet_count || size > header.packet_payload) return nullptr;
  return reinterpret_cast<const std::byte*>(&packet_header(mapping, index) + 1);
}

void PeerPackets::release(std::uint32_t index, std::uint32_t generation, std::size_t touch) const noexcept {
  const Mapping& mapping = *mapping_.load(std::memory_order_relaxed);
  PacketHeader& packet = packet_header(mapping, index);
  if (packet.generation.load(std::memory_order_relaxed) != generation) return;
  if (touch >= kOwnedFrom) {
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
  release(static_cast<std::uint32_t>(cookie), static_cast<std::uint32_t>(cookie >> 32), size);
  held_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weft::network::shm
