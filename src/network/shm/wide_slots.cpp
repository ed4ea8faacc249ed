// The rarer of the short ways to write what is larger than a slot.
#include "base/bulk_copy.hpp"
#include "network/shm/port.hpp"
#include "network/wide_lane.hpp"

#include <cstring>

namespace weft::network {

namespace shm {

/// Under the lane's lock: from when the lane has been given up, no packet gets a note of this peer.
PacketReference lend_packet(std::byte* packet, std::uint32_t index, int peer, std::size_t size) noexcept {
  PacketHeader& header = *(reinterpret_cast<PacketHeader*>(packet) - 1);
  const std::uint32_t generation = header.generation.load(std::memory_order_relaxed);
  // Pairs with the acquire in ShmNetwork::reclaim_packets, by which the thread that uses the packet next
  // comes after this one. (The peer's return orders them as well, but a race detector does not see other
  // processes.)
  header.generation.store(generation, std::memory_order_release);
  header.holder.store(static_cast<std::uint32_t>(peer) + 1, std::memory_order_relaxed);
  return {index, generation, size};
}

}  // namespace shm

bool find_slots(WideLane& lane, std::size_t slots) noexcept {
  if (static_cast<shm::SendState&>(lane).is_given_up) return false;
  lane.learn_credit();
  return static_cast<std::size_t>(lane.end - lane.next) >= slots;
}

[[gnu::noinline]] bool write_into_shuttle(detail::SendLane& lane, std::uint64_t word, std::uint8_t channel,
                                          Bytes payload, const WideTrailer& trailer) noexcept {
  auto& state = static_cast<shm::SendState&>(lane);
  const std::size_t size = payload.size() + trailer.size;
  // As in detail::find_place().
  detail::Slot* const shuttle = lane.shuttle.load(std::memory_order_acquire);
  if (shuttle == nullptr || size > shm::kShuttlePayload || state.is_given_up || state.peer->gone())
    return false;
  lane.shuttle.store(nullptr, std::memory_order_relaxed);
  lane.pass();
  // Nobody looks for headers there, but for the first.
  base::copy_bulk(shuttle->payload, payload.data(), payload.size());
  if (trailer.size != 0) std::memcpy(shuttle->payload + payload.size(), &trailer.bits, sizeof trailer.bits);
  shuttle->word = word;
  state.count(1, size, trailer.size != 0);
  detail::publish_slot(lane, {shuttle, lane.shuttle_mark, lane.next}, size, channel);
  return true;
}

bool write_packet(detail::SendLane& lane, std::uint64_t word, std::uint8_t channel, std::byte* packet,
                  std::uint32_t index, std::size_t size, const WideTrailer& trailer) noexcept {
  auto& state = static_cast<shm::SendState&>(lane);
  if (!has_slots(state, 1) || state.peer->gone()) [[unlikely]]
    return false;
  detail::Slot* const slot = lane.next;
  detail::prefetch_for_write(slot + detail::kPrefetchDistance);
  const shm::PacketReference reference = shm::lend_packet(packet, index, state.peer->rank, size);
  std::memcpy(slot->payload, &reference, sizeof reference);
  slot->word = word;
  state.count(1, size, trailer.size != 0);
  detail::publish_slot(lane, {slot, lane.mark, slot + 1}, sizeof reference, channel,
                       detail::SlotKind::packet);
  return true;
}

}  // namespace weft::network
