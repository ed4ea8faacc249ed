// Polling: from a header that is not zero to Sink::deliver.
#include "network/shm/port.hpp"

#include "concurrent/thread_number.hpp"

#include <weft/detail/message_access.hpp>

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

/// One visit of one thread to one lane. Position and message stay in registers and on the stack; what other
/// threads may look at is brought up to date at the end.
struct ShmPort::Batch {
  ReceiveLane& lane;
  Sink& sink;
  std::uint64_t head;
  Message message;

  /// Slots before `head` have been read: the sender learns it every quarter of the ring.
  void credit() noexcept {
    if (head - lane.credited <= lane.mask / 4) return;
    // Pairs with the acquire in make_room().
    lane.control->credit.store(head, std::memory_order_release);
    lane.credited = head;
  }
};

std::size_t ShmPort::receive(ReceiveLane& lane, Sink& sink, std::size_t limit) noexcept {
  Batch batch{lane, sink, lane.head, {}};
  detail::MessageAccess::set_view(batch.message, Operation::active_message, lane.peer->rank, 0, nullptr, 0, &copier_, 0);
  std::size_t count = 0;
  while (count < limit) {
    Slot& slot = lane.slots[batch.head & lane.mask];
    // Pairs with the release in detail::post_slot and send_slots().
    const std::uint64_t header = slot.header.load(std::memory_order_acquire);
    if (header == 0) break;
    if (count >= kPrefetchAfter) __builtin_prefetch(&lane.slots[(batch.head + kPrefetchAhead) & lane.mask], 1);
    if (static_cast<std::uint32_t>(header >> 32) != static_cast<std::uint32_t>(batch.head)) [[unlikely]] {
      sink.reject(lane.peer->rank, "slot out of sequence", header >> 32);
      detach(lane, Announcement::State::claimed);
      break;
    }
    const std::size_t size = header >> 16 & 0xffff;
    if ((header & 0xff) == static_cast<std::uint64_t>(SlotKind::message) && size <= detail::kSlotPayload) [[likely]] {
      const std::uint64_t word = slot.word;
      detail::MessageAccess::set_payload(batch.message, static_cast<std::uint32_t>(word), slot.payload, size, &copier_);
      if (!sink.deliver(static_cast<std::uint8_t>(header >> 8), word, batch.message)) [[unlikely]]
        break;
      // A cleared header costs the sender's next write less than one that it has to compare.
      slot.header.store(0, std::memory_order_relaxed);
      ++batch.head;
    } else {
      std::uint64_t used = 1;
      if (!deliver_rare(batch, slot, header, used)) break;
      batch.head += used;
    }
    batch.credit();
    ++count;
  }
  lane.head = batch.head;
  lane.next.store(&lane.slots[batch.head & lane.mask], std::memory_order_relaxed);
  return count;
}

bool ShmPort::deliver_rare(Batch& batch, Slot& slot, std::uint64_t header, std::uint64_t& used) noexcept {
  ReceiveLane& lane = batch.lane;
  const std::size_t size = header >> 16 & 0xffff;
  switch (static_cast<SlotKind>(header & 0xff)) {
    case SlotKind::message: {
      const std::uint64_t slots = 1 + (size - detail::kSlotPayload + sizeof(Slot) - 1) / sizeof(Slot);
      if ((batch.head & lane.mask) + slots > lane.mask + 1) {
        batch.sink.reject(lane.peer->rank, "message beyond the end of its ring", size);
        break;
      }
      const std::uint64_t word = slot.word;
      detail::MessageAccess::set_payload(batch.message, static_cast<std::uint32_t>(word), slot.payload, size, &copier_);
      if (!batch.sink.deliver(static_cast<std::uint8_t>(header >> 8), word, batch.message)) return false;
      // Payload of the following slots must not be taken for headers in the next lap.
      for (std::uint64_t next = 1; next < slots; ++next)
        lane.slots[(batch.head + next) & lane.mask].header.store(0, std::memory_order_relaxed);
      used = slots;
      break;
    }
    case SlotKind::packet:
      if (!deliver_packet(batch, slot, header)) return false;
      break;
    case SlotKind::skip:
      used = lane.mask + 1 - (batch.head & lane.mask);
      break;
    case SlotKind::moved:
      follow(lane, slot, batch.sink);
      batch.head = lane.head;
      used = 0;
      return !lane.ended;
    case SlotKind::closed:
      lanes_[lane.index].store(nullptr, std::memory_order_relaxed);
      detach(lane, Announcement::State::free);
      slot.header.store(0, std::memory_order_relaxed);
      // Pairs with the acquire in Segment::allocate_ring.
      lane.control->released.store(1, std::memory_order_release);
      return false;
    default:
      batch.sink.reject(lane.peer->rank, "slot of unknown kind", header & 0xff);
      break;
  }
  slot.header.store(0, std::memory_order_relaxed);
  return true;
}

bool ShmPort::deliver_packet(Batch& batch, const Slot& slot, std::uint64_t header) noexcept {
  PacketReference reference;
  std::memcpy(&reference, slot.payload, sizeof reference);
  PeerPackets& packets = *batch.lane.packets;
  const std::byte* data = packets.resolve(reference.index, reference.size);
  if (data == nullptr) {
    batch.sink.reject(batch.lane.peer->rank, "packet index or size out of range", reference.index);
    return true;
  }
  const std::uint64_t word = slot.word;
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, batch.lane.peer->rank,
                                  static_cast<std::uint32_t>(word), data, reference.size, &packets,
                                  PeerPackets::cookie_of(reference.index, reference.generation));
  if (!batch.sink.deliver(static_cast<std::uint8_t>(header >> 8), word, message)) return false;
  if (!detail::MessageAccess::was_kept(message)) packets.give_back(reference.index, reference.generation, reference.size);
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
