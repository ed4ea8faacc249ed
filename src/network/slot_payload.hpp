// Layout of a payload over several slots: one contiguous range, which includes the headers of all slots but
// the first.
#pragma once

#include <weft/detail/copy.hpp>
#include <weft/detail/lane.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::network {

inline constexpr std::size_t kSlot = sizeof(detail::Slot);
inline constexpr std::size_t kHeader = sizeof(std::uint64_t);

/// Where the contents of a message begin, whose first slot this is.
inline std::byte* content_of(detail::Slot& first) noexcept {
  return reinterpret_cast<std::byte*>(&first) + offsetof(detail::Slot, payload);
}
/// The bytes behind the header of a slot that is not the first.
inline std::byte* part_of(detail::Slot& slot) noexcept {
  return reinterpret_cast<std::byte*>(&slot) + kHeader;
}
/// Stores `size` bytes of the payload into the slot's header and zeroes the rest of the header.
inline void store_header(detail::Slot& slot, const std::byte* from, std::size_t size) noexcept {
  std::uint64_t head = 0;
  std::memcpy(&head, from, size);
  slot.header.store(head, std::memory_order_relaxed);
}

/// Whether payloads are copied over the headers of slots as over anything else, which takes the fewest stores
/// (docs/decisions/024). A poll with an old position may then read any value as a header; it acts only after
/// it has read again with the lane entered. Under ThreadSanitizer headers are always stored as atomics.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kCopiesOverHeaders = false;
#else
inline constexpr bool kCopiesOverHeaders = true;
#endif

/// Smaller payloads are written without a call.
inline constexpr std::size_t kCalledFrom = 257;

/// Writes a payload over a slot and those that follow. It copies by vectors, not by words as copy_small()
/// does: some processors predict wrongly which store a load depends on when a loop has written the data
/// element by element.
[[gnu::always_inline]] inline void write_payload(detail::Slot* slot, Bytes payload) noexcept {
  const std::byte* from = payload.data();
  if (payload.size() <= detail::kSlotPayload) {
    detail::copy_small(slot->payload, from, payload.size());
    return;
  }
  if constexpr (kCopiesOverHeaders) {
    if (payload.size() >= kCalledFrom) {
      std::memcpy(content_of(*slot), from, payload.size());
      return;
    }
    std::byte* to = content_of(*slot);
    std::memcpy(to, from, detail::kSlotPayload);
    from += detail::kSlotPayload;
    to += detail::kSlotPayload;
    std::size_t rest = payload.size() - detail::kSlotPayload;
    for (; rest >= kSlot; rest -= kSlot, from += kSlot, to += kSlot) std::memcpy(to, from, kSlot);
    if (rest >= kSlot / 2) {
      std::memcpy(to, from, kSlot / 2);
      rest -= kSlot / 2;
      from += kSlot / 2;
      to += kSlot / 2;
    }
    constexpr std::size_t kVector = 16;
    if (rest >= kVector) std::memcpy(to, from, kVector);
    // The last one may overlap the ones before.
    std::memcpy(to + rest - kVector, from + rest - kVector, kVector);
    return;
  }
  std::memcpy(slot->payload, from, detail::kSlotPayload);
  from += detail::kSlotPayload;
  std::size_t rest = payload.size() - detail::kSlotPayload;
  for (; rest >= kSlot; rest -= kSlot, from += kSlot) {
    ++slot;
    store_header(*slot, from, kHeader);
    std::memcpy(part_of(*slot), from + kHeader, kSlot - kHeader);
  }
  if (rest == 0) return;
  ++slot;
  if (rest < kHeader) return store_header(*slot, from, rest);
  store_header(*slot, from, kHeader);
  rest -= kHeader;
  from += kHeader;
  std::byte* const to = part_of(*slot);
  if (rest <= detail::kSlotPayload) {
    detail::copy_small(to, from, rest);
  } else {
    std::memcpy(to, from, detail::kSlotPayload);
    std::memcpy(to + rest - kHeader, from + rest - kHeader, kHeader);
  }
}

/// Writes the trailer behind a payload of `size` bytes that begins in `first`.
[[gnu::always_inline]] inline void write_trailer(detail::Slot* first, std::size_t size,
                                                 std::uint64_t trailer) noexcept {
  if constexpr (kCopiesOverHeaders) {
    std::memcpy(content_of(*first) + size, &trailer, sizeof trailer);
    return;
  }
  const std::size_t place = offsetof(detail::Slot, payload) + size;
  detail::Slot& slot = first[place / kSlot];
  const std::size_t in_slot = place % kSlot;
  auto* const at = reinterpret_cast<std::byte*>(&slot) + in_slot;
  if (in_slot >= kHeader && in_slot <= kSlot - sizeof trailer) {
    std::memcpy(at, &trailer, sizeof trailer);
  } else if (in_slot < kHeader) {
    // The payload's last bytes are in the header already.
    const std::uint64_t before = in_slot == 0 ? 0 : slot.header.load(std::memory_order_relaxed);
    slot.header.store(before | trailer << 8 * in_slot, std::memory_order_relaxed);
    if (in_slot != 0)
      std::memcpy(part_of(slot), reinterpret_cast<const std::byte*>(&trailer) + kHeader - in_slot, in_slot);
  } else {
    const std::size_t here = kSlot - in_slot;
    std::memcpy(at, &trailer, here);
    store_header(*(&slot + 1), reinterpret_cast<const std::byte*>(&trailer) + here, kHeader - here);
  }
}

}  // namespace weft::network
