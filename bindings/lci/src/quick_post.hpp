// Active messages of a word, by code that makes no call.
#pragma once

#include <cstdint>
#include <weft/detail/device_path.hpp>
#include <weft/detail/lane.hpp>

namespace lci {

/// How such a post has gone.
enum class QuickPost : std::uint8_t {
  refused,  ///< without effect: the usual post says why
  sent,
  cold,  ///< sent, but the lane is held still: ring_doorbell() and leave() end the post
};

/// What weft's post of a word does on its fast path, for a caller that makes calls only at its end, and so
/// saves no registers. `target`: weft::detail::handle_word(). `hold`: of the lane, where the answer is cold.
[[nodiscard, gnu::always_inline]] inline QuickPost try_post_word(weft::detail::SendLane& lane,
                                                                 std::uint64_t target, const void* word,
                                                                 std::atomic<std::uint32_t>*& hold) noexcept {
  using weft::detail::TryLock;
  if (lane.open_handles[target >> 48].load(std::memory_order_relaxed) != weft::detail::open_handle(target))
      [[unlikely]]
    return QuickPost::refused;
  hold = weft::detail::enter_decided<TryLock>(lane.bias, lane.lock);
  if (hold == nullptr) [[unlikely]]
    return QuickPost::refused;
  weft::detail::Slot* const slot = lane.next;
  // The reply slot is left to the usual post, as is what needs a look at the peer's credit.
  if (slot == lane.end || lane.reply_slot.load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
    weft::detail::leave<TryLock>(hold);
    return QuickPost::refused;
  }
  constexpr std::size_t kSize = sizeof(std::uint64_t);
  weft::detail::fill_slot(*slot, target, {static_cast<const std::byte*>(word), kSize});
  const std::uint64_t kind = weft::detail::slot_header(0, kSize, weft::detail::kActiveMessageChannel,
                                                       weft::detail::SlotKind::message);
  if (weft::detail::publish(lane, *slot, lane.mark | kind, slot + 1)) [[unlikely]]
    return QuickPost::cold;
  weft::detail::leave<TryLock>(hold);
  return QuickPost::sent;
}

}  // namespace lci
