// A batch of consecutive messages of a lane that take several slots each, as their sink reads them.
#pragma once

#include <weft/detail/lane.hpp>
#include <weft/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// The number of slots that a message with a payload of `size` bytes takes.
[[nodiscard]] constexpr std::size_t slots_for(std::size_t size) noexcept {
  return size <= detail::kSlotPayload
             ? 1
             : 1 + (size - detail::kSlotPayload + sizeof(detail::Slot) - 1) / sizeof(detail::Slot);
}

/// A batch of messages of one channel, peer and size, each in several slots. SlotBatch is the counterpart for
/// messages in one slot each.
class MultiSlotBatch {
 public:
  /// Makes the batch from position `head` on, where a message with a payload of `size` bytes begins, of at
  /// most `limit` messages.
  MultiSlotBatch(Slot* slots, std::uint64_t mask, std::uint64_t head, std::uint32_t passed, std::size_t limit,
                 int peer, std::uint8_t channel, std::size_t size) noexcept
      : stride_(slots_for(size)),
        slot_(slots + (head & mask)),
        end_(slot_ + stride_ * std::min<std::uint64_t>(limit, (mask + 1 - (head & mask)) / stride_)),
        header_(slot_header(lap_of(head, mask) | passed, size, channel, SlotKind::message)),
        end_head_(head + static_cast<std::uint64_t>(end_ - slot_)),
        peer_(peer) {}

  /// Copies member by member, for the reason given at SlotBatch.
  [[gnu::always_inline]] inline MultiSlotBatch(const MultiSlotBatch& other) noexcept
      : stride_(other.stride_),
        slot_(other.slot_),
        end_(other.end_),
        header_(other.header_),
        end_head_(other.end_head_),
        peer_(other.peer_) {}
  MultiSlotBatch& operator=(const MultiSlotBatch&) = delete;

  [[nodiscard]] int peer() const noexcept { return peer_; }
  [[nodiscard]] std::uint8_t channel() const noexcept { return static_cast<std::uint8_t>(header_ >> 8); }
  [[nodiscard]] std::uint64_t head() const noexcept {
    return end_head_ - static_cast<std::uint64_t>(end_ - slot_);
  }
  [[nodiscard]] std::size_t size() const noexcept { return header_ >> 16 & 0xffff; }
  [[nodiscard]] std::size_t slots() const noexcept { return stride_; }

  [[nodiscard]] bool look(std::uint64_t& word, Bytes& payload) const noexcept {
    const std::byte* data = nullptr;
    if (!peek_alike(word, data)) return false;
    payload = {data, size()};
    return true;
  }
  [[nodiscard, gnu::always_inline]] inline bool peek_alike(std::uint64_t& word,
                                                           const std::byte*& payload) const noexcept {
    if (slot_ == end_) [[unlikely]]
      return false;
    // Pairs with the release in commit_slot() and SendLanes::send().
    if (slot_->header.load(std::memory_order_acquire) != header_) [[unlikely]]
      return false;
    word = slot_->word;
    payload = slot_->payload;
    return true;
  }
  [[nodiscard]] bool peek_ahead(std::uint64_t distance, std::uint64_t& word) const noexcept {
    if (static_cast<std::uint64_t>(end_ - slot_) <= distance * stride_) return false;
    const Slot& slot = slot_[distance * stride_];
    if (slot.header.load(std::memory_order_acquire) != header_) return false;
    word = slot.word;
    return true;
  }
  [[nodiscard]] MultiSlotBatch first(std::size_t most) const noexcept {
    MultiSlotBatch part = *this;
    if (static_cast<std::size_t>(end_ - slot_) > most * stride_) {
      part.end_ = slot_ + most * stride_;
      part.end_head_ = head() + most * stride_;
    }
    return part;
  }
  void resume_behind(const MultiSlotBatch& part) noexcept { slot_ = part.slot_; }
  /// Does nothing, unlike SlotBatch::fetch_ahead(): the reader of the payload fetches its lines.
  static void fetch_ahead() noexcept {}
  /// Ends the message at head(): its slots are free. Headers are cleared because payload bytes at their
  /// places must not be taken for headers in the next lap.
  void advance() noexcept {
    for (const Slot* const next = slot_ + stride_; slot_ != next; ++slot_)
      slot_->header.store(0, std::memory_order_relaxed);
  }

 private:
  std::size_t stride_;  // slots of a message
  Slot* slot_;          // at head()
  Slot* end_;
  std::uint64_t header_;    // the header of all messages
  std::uint64_t end_head_;  // position of end_
  int peer_;
};

}  // namespace weft::detail
