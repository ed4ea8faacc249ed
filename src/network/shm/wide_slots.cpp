// The short ways to write what is larger than a slot.
#include "network/wide_slots.hpp"
#include "base/bulk_copy.hpp"
#include "network/shm/port.hpp"
#include "network/shm/slot_payload.hpp"

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

namespace {

/// Whether so many slots of the lane are free, the ring does not end before, and the peer is there.
[[gnu::always_inline]] inline bool has_slots(shm::SendState& state, std::size_t slots) noexcept {
  const auto are_there = [&] { return static_cast<std::size_t>(state.end - state.next) >= slots; };
  if (!are_there()) [[unlikely]] {
    state.learn_credit();
    if (!are_there()) return false;
  }
  return !state.is_given_up && !state.peer->gone();
}

/// Counts a message that is in the lane, but for what is published.
[[gnu::always_inline]] inline void count(shm::SendState& state, std::size_t slots, std::size_t size,
                                         const WideTrailer& trailer) noexcept {
  state.called += slots;
  (trailer.size != 0 ? state.wide_sends : state.wide_messages) += 1;
  state.wide_bytes += size;
}

}  // namespace

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
  count(state, 1, size, trailer);
  detail::publish_slot(lane, {shuttle, lane.shuttle_mark, lane.next}, size, channel);
  return true;
}

bool write_wide(detail::SendLane& lane, std::uint64_t word, std::uint8_t channel, Bytes payload,
                const WideTrailer& trailer) noexcept {
  auto& state = static_cast<shm::SendState&>(lane);
  const std::size_t size = payload.size() + trailer.size;
  if (lane.shuttle.load(std::memory_order_relaxed) != nullptr &&
      write_into_shuttle(lane, word, channel, payload, trailer))
    return true;
  const std::size_t slots = slots_for(size);
  if (!has_slots(state, slots)) [[unlikely]]
    return false;
  detail::Slot* const first = lane.next;
  for (std::size_t ahead = 0; ahead < slots; ++ahead)
    detail::prefetch_for_write(first + ahead + detail::kPrefetchDistance);
  shm::write_payload(first, payload);
  if (trailer.size != 0) shm::write_trailer(first, payload.size(), trailer.bits);
  first->word = word;
  state.wide_head = lane.tail();
  state.wide_tail = state.wide_head + slots;
  count(state, slots, size, trailer);
  detail::publish_slot(lane, {first, lane.mark, first + slots}, size, channel);
  return true;
}

bool write_packet(detail::SendLane& lane, std::uint64_t word, std::uint8_t channel, std::byte* packet,
                  std::uint32_t index, std::size_t size, const WideTrailer& trailer) noexcept {
  auto& state = static_cast<shm::SendState&>(lane);
  if (!has_slots(state, 1)) [[unlikely]]
    return false;
  detail::Slot* const slot = lane.next;
  detail::prefetch_for_write(slot + detail::kPrefetchDistance);
  const shm::PacketReference reference = shm::lend_packet(packet, index, state.peer->rank, size);
  std::memcpy(slot->payload, &reference, sizeof reference);
  slot->word = word;
  count(state, 1, size, trailer);
  detail::publish_slot(lane, {slot, lane.mark, slot + 1}, sizeof reference, channel,
                       detail::SlotKind::packet);
  return true;
}

}  // namespace weft::network
