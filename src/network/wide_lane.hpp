// The short way to write a message that takes several slots, as inlined posts write one slot.
#pragma once

#include "network/slot_payload.hpp"
#include "network/wide_slots.hpp"

#include <weft/detail/lane.hpp>

namespace weft::network {

/// What a lane through which such messages may be sent knows besides; under its lock.
struct WideLane : detail::SendLane {
  // The last message of several slots: where it began and ended, and in which lap.
  const detail::Slot* wide_first = nullptr;
  const detail::Slot* wide_end = nullptr;
  std::uint64_t wide_lap = 0;
  std::uint64_t called = 0;  // positions, and turns of the shuttle, that inlined posts did not use
  // By write_wide() and write_packet(), which nobody else counts:
  std::uint64_t wide_messages = 0;  // without a trailer
  std::uint64_t wide_sends = 0;     // with one
  std::uint64_t wide_bytes = 0;     // of both

  [[gnu::always_inline]] void ends_wide(const detail::Slot* first, const detail::Slot* behind) noexcept {
    wide_first = first;
    wide_end = behind;
    wide_lap = lap;
  }
  /// The first slot of the last message in the ring, which holds one.
  [[nodiscard]] const detail::Slot& last() const noexcept {
    const std::uint64_t position = tail();
    const bool is_wide =
        wide_end != nullptr && wide_lap + static_cast<std::uint64_t>(wide_end - slots) == position;
    return is_wide ? *wide_first : at(position - 1);
  }
  /// Counts a message that is in the lane, but for what is published.
  [[gnu::always_inline]] void count(std::size_t positions, std::size_t size, bool is_send) noexcept {
    called += positions;
    (is_send ? wide_sends : wide_messages) += 1;
    wide_bytes += size;
  }
};

/// For a lane that was entered and seems to have too few slots before the ring's end: looks how far its
/// receiver has read. Whether so many are free now.
[[nodiscard]] bool find_slots(WideLane& lane, std::size_t slots) noexcept;

/// Whether so many slots are free before the ring's end.
[[nodiscard, gnu::always_inline]] inline bool has_slots(WideLane& lane, std::size_t slots) noexcept {
  if (static_cast<std::size_t>(lane.end - lane.next) >= slots) [[likely]]
    return true;
  return find_slots(lane, slots);
}

/// Writes a message into the next slots of a lane that the caller has entered, for payloads that the port can
/// send in slots (Capabilities::inline_bytes, the trailer included), or into its shuttle, when that is here.
/// A send has `trailer` behind its payload. False without effect: they are not free, or the ring ends before;
/// Port::send() then knows what to do.
template <bool kIsSend>
[[nodiscard, gnu::always_inline]] inline bool write_wide(detail::SendLane& lane, std::uint64_t word,
                                                         Bytes payload, std::uint64_t trailer) noexcept {
  constexpr std::uint8_t kChannel = kIsSend ? detail::kSendChannel : detail::kActiveMessageChannel;
  constexpr std::size_t kTrailer = kIsSend ? detail::kMatchTrailer : 0;
  if (lane.shuttle.load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
    if (write_into_shuttle(lane, word, kChannel, payload, {trailer, kTrailer})) return true;
  }
  auto& wide = static_cast<WideLane&>(lane);
  const std::size_t size = payload.size() + kTrailer;
  const std::size_t slots = slots_for(size);
  if (!has_slots(wide, slots)) [[unlikely]]
    return false;
  detail::Slot* const first = lane.next;
  detail::Slot* const behind = first + slots;
  const detail::Slot* slot = first;
  do detail::prefetch_for_write(slot + detail::kPrefetchDistance);
  while (++slot != behind);
  write_payload(first, payload);
  if constexpr (kIsSend) write_trailer(first, payload.size(), trailer);
  first->word = word;
  wide.ends_wide(first, behind);
  wide.count(slots, size, kIsSend);
  detail::publish_slot(lane, {first, lane.mark, behind}, size, kChannel);
  return true;
}

}  // namespace weft::network
