// Messages that have arrived one after the other in slots of a lane, as their sink reads them.
#pragma once

#include <weft/detail/lane.hpp>
#include <weft/types.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::network {

/// A run of messages of one channel and one peer, each in a slot of its own. The sink takes them in order and
/// stops where it likes; a run also ends before whatever is not of its kind.
class SlotRun {
 public:
  /// From position `head` on, at most `limit` messages.
  SlotRun(detail::Slot* slots, std::uint64_t mask, std::uint64_t head, std::size_t limit, int peer,
          std::uint8_t channel) noexcept
      : slots_(slots),
        mask_(mask),
        head_(head),
        end_(head + limit),
        usual_(detail::slot_header(0, 0, channel, detail::SlotKind::message)),
        peer_(peer),
        channel_(channel) {}

  [[nodiscard]] int peer() const noexcept { return peer_; }
  [[nodiscard]] std::uint8_t channel() const noexcept { return channel_; }
  [[nodiscard]] std::uint64_t head() const noexcept { return head_; }

  /// Shows the message at head(); false at the end of the run.
  [[nodiscard, gnu::always_inline]] inline bool look(std::uint64_t& word, Bytes& payload) const noexcept {
    return head_ != end_ && look_ahead(0, word, payload);
  }
  /// The same for the message `distance` places behind; not to be relied on before it is at the head.
  [[nodiscard, gnu::always_inline]] inline bool look_ahead(std::uint64_t distance, std::uint64_t& word,
                                                           Bytes& payload) const noexcept {
    const std::uint64_t position = head_ + distance;
    const detail::Slot& slot = slots_[position & mask_];
    // Pairs with the release in detail::post_matched_slot.
    const std::uint64_t header = slot.header.load(std::memory_order_acquire);
    const std::size_t size = header >> 16 & 0xffff;
    if ((header & 0xffffffff0000ffffU) != (usual_ | position << 32) || size > detail::kSlotPayload)
      return false;
    word = slot.word;
    payload = {slot.payload, size};
    return true;
  }
  /// The message at head() has been taken: its slot is free.
  void advance() noexcept {
    // A cleared header costs the sender's next write less than one that it has to compare.
    slots_[head_ & mask_].header.store(0, std::memory_order_relaxed);
    ++head_;
  }

 private:
  detail::Slot* slots_;
  std::uint64_t mask_;
  std::uint64_t head_;
  std::uint64_t end_;
  std::uint64_t usual_;  // header of such a message at position 0 and without payload
  int peer_;
  std::uint8_t channel_;
};

}  // namespace weft::network
