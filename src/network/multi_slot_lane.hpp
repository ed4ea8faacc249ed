// Fast path for messages that take several slots, as inlined posts are for messages of one slot.
#pragma once

#include "network/multi_slots.hpp"
#include "network/slot_payload.hpp"

#include <weft/detail/lane.hpp>

namespace weft::network {

/// Sending half of a lane that takes messages of several slots; the members are guarded by the lane's lock.
struct MultiSlotLane : detail::SendLane {
  // The last message of several slots: its first slot, the slot behind it, and its lap.
  const detail::Slot* multi_slot_first = nullptr;
  const detail::Slot* multi_slot_end = nullptr;
  std::uint64_t multi_slot_lap = 0;
  std::uint64_t called = 0;  // positions, and turns of the reply slot, that were not used by inlined posts
  // Messages written by write_multi_slot() and write_packet(), which are counted nowhere else:
  std::uint64_t multi_slot_messages = 0;  // messages without a trailer
  std::uint64_t multi_slot_sends = 0;     // messages with a trailer (sends)
  std::uint64_t multi_slot_bytes = 0;     // bytes of all these messages

  [[gnu::always_inline]] void ends_with_multi_slot(const detail::Slot* first,
                                                   const detail::Slot* behind) noexcept {
    multi_slot_first = first;
    multi_slot_end = behind;
    multi_slot_lap = lap;
  }
  /// The first slot of the last message in the ring, which must not be empty.
  [[nodiscard]] const detail::Slot& last() const noexcept {
    const std::uint64_t position = tail();
    const bool is_wide = multi_slot_end != nullptr &&
                         multi_slot_lap + static_cast<std::uint64_t>(multi_slot_end - slots) == position;
    return is_wide ? *multi_slot_first : at(position - 1);
  }
  /// Counts a message that has been written but not yet committed.
  [[gnu::always_inline]] void count(std::size_t positions, std::size_t size, bool is_send) noexcept {
    called += positions;
    (is_send ? multi_slot_sends : multi_slot_messages) += 1;
    multi_slot_bytes += size;
  }
};

/// Slow path of has_slots(): reads the receiver's credit. Returns true when `slots` slots are free now before
/// the ring's end. The caller has entered the lane.
[[nodiscard]] bool reserve_slots(MultiSlotLane& lane, std::size_t slots) noexcept;

/// Returns true when `slots` slots are free before the ring's end.
[[nodiscard, gnu::always_inline]] inline bool has_slots(MultiSlotLane& lane, std::size_t slots) noexcept {
  if (static_cast<std::size_t>(lane.end - lane.next) >= slots) [[likely]]
    return true;
  return reserve_slots(lane, slots);
}

/// Prefetches the lines that the messages behind one of so many slots will be written to.
[[gnu::always_inline]] inline void prefetch_slots(const detail::Slot* slot, std::size_t slots) noexcept {
  constexpr std::size_t kTogether = 4;
  slot += detail::kPrefetchDistance;
  for (; slots >= kTogether; slots -= kTogether, slot += kTogether) {
    detail::prefetch_for_write(slot);
    detail::prefetch_for_write(slot + 1);
    detail::prefetch_for_write(slot + 2);
    detail::prefetch_for_write(slot + 3);
  }
  for (; slots != 0; --slots) detail::prefetch_for_write(slot++);
}

/// Writes a message into the next `slots` slots of a lane, which are free and prefetched for those to come.
template <bool kIsSend>
[[gnu::always_inline]] inline void write_into_slots(MultiSlotLane& lane, std::uint64_t word, Bytes payload,
                                                    std::uint64_t trailer, std::size_t slots) noexcept {
  constexpr std::uint8_t kChannel = kIsSend ? detail::kSendChannel : detail::kActiveMessageChannel;
  const std::size_t size = payload.size() + (kIsSend ? detail::kMatchTrailer : 0);
  detail::Slot* const first = lane.next;
  detail::Slot* const behind = first + slots;
  write_payload(first, payload);
  if constexpr (kIsSend) write_trailer(first, payload.size(), trailer);
  first->word = word;
  lane.ends_with_multi_slot(first, behind);
  lane.count(slots, size, kIsSend);
  detail::commit_slot(lane, {first, lane.mark, behind}, size, kChannel);
}

/// Writes a message into the next slots of a lane that the caller has entered, or into the lane's reply slot
/// when the reply slot is here. For payloads that the port can send in slots (Capabilities::inline_bytes, the
/// trailer included). A send has `trailer` behind its payload. Returns false, without effect, when the slots
/// are not free or the ring ends before; the caller then falls back to Port::send().
template <bool kIsSend>
[[nodiscard, gnu::always_inline]] inline bool write_multi_slot(detail::SendLane& lane, std::uint64_t word,
                                                               Bytes payload,
                                                               std::uint64_t trailer) noexcept {
  constexpr std::uint8_t kChannel = kIsSend ? detail::kSendChannel : detail::kActiveMessageChannel;
  constexpr std::size_t kTrailer = kIsSend ? detail::kMatchTrailer : 0;
  if (lane.reply_slot.load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
    if (write_into_reply_slot(lane, word, kChannel, payload, {trailer, kTrailer})) return true;
  }
  auto& wide = static_cast<MultiSlotLane&>(lane);
  const std::size_t slots = slots_for(payload.size() + kTrailer);
  if (!has_slots(wide, slots)) [[unlikely]]
    return false;
  prefetch_slots(lane.next, slots);
  write_into_slots<kIsSend>(wide, word, payload, trailer, slots);
  return true;
}

/// write_multi_slot() for a payload that is written without a call, into slots that are known to be free: so
/// that its caller need not save registers. Returns false, without effect, when it does not apply.
template <bool kIsSend>
[[nodiscard, gnu::always_inline]] inline bool write_short_multi_slot(detail::SendLane& lane,
                                                                     std::uint64_t word, Bytes payload,
                                                                     std::uint64_t trailer) noexcept {
  const std::size_t slots = slots_for(payload.size() + (kIsSend ? detail::kMatchTrailer : 0));
  if (payload.size() >= kCalledFrom || lane.reply_slot.load(std::memory_order_relaxed) != nullptr ||
      static_cast<std::size_t>(lane.end - lane.next) < slots) [[unlikely]]
    return false;
  const detail::Slot* slot = lane.next;
  do detail::prefetch_for_write(slot + detail::kPrefetchDistance);
  while (++slot != lane.next + slots);
  write_into_slots<kIsSend>(static_cast<MultiSlotLane&>(lane), word, payload, trailer, slots);
  return true;
}

}  // namespace weft::network
