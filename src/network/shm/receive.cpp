// Polling: from a header that is not zero to Sink::deliver.
#include "network/shm/port.hpp"

#include "concurrent/thread_number.hpp"

#include <bit>
#include <cstring>

namespace weft::network::shm {

using detail::Slot;
using detail::SlotKind;

namespace {

constexpr std::uint64_t kPrefetchAfter = 8;   // messages in a row before the receiver fetches ahead
constexpr std::uint64_t kPrefetchAhead = 4;   // slots
constexpr int kPollAllUpTo = 16;              // hot lanes; beyond, idle ones are cooled
constexpr std::uint32_t kSweepEvery = 4096;   // polls, while there are more

}  // namespace

std::size_t ShmPort::poll(Sink& sink, std::size_t limit, bool exclusive) noexcept {
  const std::uint32_t words = (area_->lanes_high.load(std::memory_order_relaxed) + 63) / 64;
  std::size_t count = 0;
  int hot = 0;
  for (std::uint32_t word = 0; word < words && word < kWords; ++word) {
    if (area_->doorbells[word].load(std::memory_order_relaxed) != 0) [[unlikely]]
      answer_doorbells(exclusive);
    std::uint64_t bits = hot_[word].load(std::memory_order_relaxed);
    hot += std::popcount(bits);
    for (; bits != 0; bits &= bits - 1) {
      // Pairs with the release in attach().
      ReceiveLane& lane =
          *lanes_[word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits))].load(std::memory_order_acquire);
      if (lane.next.load(std::memory_order_relaxed)->header.load(std::memory_order_relaxed) == 0) continue;
      const std::uint32_t mark = concurrent::thread_number() + 1;
      if (exclusive) {
        lane.busy.store(mark, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
      } else {
        std::uint32_t idle = 0;
        if (lane.busy.load(std::memory_order_relaxed) != 0 ||
            !lane.busy.compare_exchange_strong(idle, mark, std::memory_order_acquire))
          continue;
      }
      count += receive(lane, sink, limit);
      // Pairs with the acquire above, and with the one in quiesce().
      lane.busy.store(lane.ended ? ReceiveLane::kEnded : 0, std::memory_order_release);
    }
  }
  if (hot > kPollAllUpTo) [[unlikely]] {
    thread_local std::uint32_t polls = 0;
    if (++polls % kSweepEvery == 0) cool(true, exclusive);
  }
  return count;
}

inline void ShmPort::advance(ReceiveLane& lane, std::uint64_t head) noexcept {
  lane.head = head;
  lane.next.store(&lane.slots[head & lane.mask], std::memory_order_relaxed);
  if (head - lane.credited > lane.mask / 4) {
    // Pairs with the acquire in make_room(): the slots have been read.
    lane.control->credit.store(head, std::memory_order_release);
    lane.credited = head;
  }
}

std::size_t ShmPort::receive(ReceiveLane& lane, Sink& sink, std::size_t limit) noexcept {
  std::size_t count = 0;
  while (count < limit) {
    Slot& slot = lane.slots[lane.head & lane.mask];
    // Pairs with the release in detail::post_slot and send_slots().
    const std::uint64_t header = slot.header.load(std::memory_order_acquire);
    if (header == 0) break;
    if (count >= kPrefetchAfter) __builtin_prefetch(&lane.slots[(lane.head + kPrefetchAhead) & lane.mask], 1);
    std::uint64_t used = 1;
    if (static_cast<std::uint32_t>(header >> 32) != static_cast<std::uint32_t>(lane.head)) [[unlikely]] {
      sink.reject(lane.peer->rank, "slot out of sequence", header >> 32);
      detach(lane, Announcement::State::claimed);
      return count;
    }
    switch (static_cast<SlotKind>(header & 0xff)) {
      case SlotKind::message:
        if (!deliver_message(lane, slot, header, sink, used)) return count;
        break;
      case SlotKind::packet:
        if (!deliver_packet(lane, slot, header, sink)) return count;
        break;
      case SlotKind::skip:
        used = lane.mask + 1 - (lane.head & lane.mask);
        break;
      case SlotKind::moved:
        follow(lane, slot, sink);
        if (lane.ended) return count;
        continue;
      case SlotKind::closed:
        slot.header.store(0, std::memory_order_relaxed);
        lanes_[lane.index].store(nullptr, std::memory_order_relaxed);
        detach(lane, Announcement::State::free);
        // Pairs with the acquire in Segment::allocate_ring.
        lane.control->released.store(1, std::memory_order_release);
        return count + 1;
      default:
        sink.reject(lane.peer->rank, "slot of unknown kind", header & 0xff);
        break;
    }
    // A cleared header costs the sender's next write less than one that it has to compare; and payload of
    // following slots must not be taken for headers in the next lap.
    slot.header.store(0, std::memory_order_relaxed);
    if (used > 1 && static_cast<SlotKind>(header & 0xff) == SlotKind::message)
      for (std::uint64_t next = 1; next < used; ++next)
        lane.slots[(lane.head + next) & lane.mask].header.store(0, std::memory_order_relaxed);
    advance(lane, lane.head + used);
    ++count;
  }
  return count;
}

inline bool ShmPort::deliver_message(ReceiveLane& lane, Slot& slot, std::uint64_t header, Sink& sink,
                                     std::uint64_t& used) noexcept {
  const std::size_t size = header >> 16 & 0xffff;
  if (size > detail::kSlotPayload) {
    used = 1 + (size - detail::kSlotPayload + sizeof(Slot) - 1) / sizeof(Slot);
    if ((lane.head & lane.mask) + used > lane.mask + 1) [[unlikely]] {
      used = 1;
      sink.reject(lane.peer->rank, "message beyond the end of its ring", size);
      return true;
    }
  }
  Arrival arrival{lane.peer->rank, static_cast<std::uint8_t>(header >> 8), slot.word, slot.payload, size,
                  &copier_, 0};
  return sink.deliver(arrival);
}

bool ShmPort::deliver_packet(ReceiveLane& lane, Slot& slot, std::uint64_t header, Sink& sink) noexcept {
  PacketReference reference;
  std::memcpy(&reference, slot.payload, sizeof reference);
  const std::byte* data = lane.packets->resolve(reference.index, reference.size);
  if (data == nullptr) [[unlikely]] {
    sink.reject(lane.peer->rank, "packet index or size out of range", reference.index);
    return true;
  }
  Arrival arrival{lane.peer->rank, static_cast<std::uint8_t>(header >> 8), slot.word, data, reference.size,
                  lane.packets, PeerPackets::cookie_of(reference.index, reference.generation)};
  if (!sink.deliver(arrival)) return false;
  if (!arrival.kept) lane.packets->give_back(reference.index, reference.generation, reference.size);
  return true;
}

void ShmPort::follow(ReceiveLane& lane, const Slot& slot, Sink& sink) noexcept {
  RingMarker marker;
  std::memcpy(&marker, slot.payload, sizeof marker);
  const Mapping& mapping = *lane.peer->mapping;
  if (!std::has_single_bit(marker.slots) || marker.slots > 1U << 20 || marker.ring_offset % 64 != 0 ||
      !mapping.contains(marker.ring_offset, ring_bytes(marker.slots))) {
    sink.reject(lane.peer->rank, "ring outside the segment", marker.ring_offset);
    detach(lane, Announcement::State::claimed);
    return;
  }
  detail::LaneControl* left = lane.control;
  lane.control = reinterpret_cast<detail::LaneControl*>(mapping.base() + marker.ring_offset);
  lane.slots = reinterpret_cast<Slot*>(lane.control + 1);
  lane.mask = marker.slots - 1;
  lane.head = lane.credited = 0;
  lane.next.store(&lane.slots[0], std::memory_order_relaxed);
  // Pairs with the acquire in Segment::allocate_ring.
  left->released.store(1, std::memory_order_release);
  if (Announcement& entry = area_->announcements[lane.index];
      entry.state.load(std::memory_order_relaxed) == Announcement::State::ready) {
    entry.ring_offset = marker.ring_offset;
    entry.slots = marker.slots;
  }
}

void ShmPort::detach(ReceiveLane& lane, Announcement::State state) noexcept {
  // Polls that still have the lane find it busy for good.
  lane.ended = true;
  const std::uint64_t bit = std::uint64_t{1} << (lane.index % 64);
  hot_[lane.index / 64].fetch_and(~bit, std::memory_order_relaxed);
  // Pairs with the acquire in announce().
  area_->announcements[lane.index].state.store(state, std::memory_order_release);
}

}  // namespace weft::network::shm
