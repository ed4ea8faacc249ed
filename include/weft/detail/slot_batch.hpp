// A batch of consecutive messages in slots of a lane, as their sink reads them.
#pragma once

#include <weft/detail/lane.hpp>
#include <weft/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// A batch of messages of one channel and one peer, each in a slot of its own. The sink takes them in order
/// and may stop after any of them; a batch also ends before a slot with other contents, and at the end of its
/// ring.
class SlotBatch {
 public:
  /// The batch from position `head` on, of at most `limit` messages that have the same count `passed` of
  /// messages in the reply slot before them. `size`: payload bytes of the first message, if known.
  /// `expected`: the number of messages that have probably arrived.
  SlotBatch(Slot* slots, std::uint64_t mask, std::uint64_t head, std::uint32_t passed, std::size_t limit,
            int peer, std::uint8_t channel, std::size_t size = 0, std::size_t expected = 0) noexcept
      : slot_(slots + (head & mask)),
        end_(slot_ + std::min<std::uint64_t>(limit, mask + 1 - (head & mask))),
        fetch_end_(slot_ + (std::max<std::uint64_t>(
                                std::min<std::uint64_t>(expected, mask + 1 - (head & mask)), kFetched) -
                            kFetched)),
        header_(slot_header(lap_of(head, mask) | passed, size, channel, SlotKind::message)),
        end_head_(head + static_cast<std::uint64_t>(end_ - slot_)),
        peer_(peer),
        channel_(channel) {}

  /// Copies member by member: a copy as a whole would load the members that were just stored in other widths,
  /// and such loads wait until all earlier stores have left the core, those to slots of other ranks included.
  [[gnu::always_inline]] inline SlotBatch(const SlotBatch& other) noexcept
      : slot_(other.slot_),
        end_(other.end_),
        fetch_end_(other.fetch_end_),
        header_(other.header_),
        end_head_(other.end_head_),
        peer_(other.peer_),
        channel_(other.channel_) {}
  SlotBatch& operator=(const SlotBatch&) = delete;

  [[nodiscard]] int peer() const noexcept { return peer_; }
  [[nodiscard]] std::uint8_t channel() const noexcept { return channel_; }
  [[nodiscard]] std::uint64_t head() const noexcept {
    return end_head_ - static_cast<std::uint64_t>(end_ - slot_);
  }

  /// Reads the message at head() without taking it. Returns false at the end of the batch.
  [[nodiscard, gnu::always_inline]] inline bool look(std::uint64_t& word, Bytes& payload) noexcept {
    if (slot_ == end_) return false;
    // Pairs with the release in try_post_slot and try_post_matched_slot.
    const std::uint64_t header = slot_->header.load(std::memory_order_acquire);
    // Most payloads are as large as the one before.
    if (header != header_) [[unlikely]] {
      if ((header & ~kSize) != (header_ & ~kSize) || size_in(header) > kSlotPayload) return false;
      header_ = header;
    }
    word = slot_->word;
    payload = {slot_->payload, size_in(header_)};
    return true;
  }
  /// look() for a message whose payload has the size of the last one shown; returns false also when the size
  /// differs.
  [[nodiscard, gnu::always_inline]] inline bool peek_alike(std::uint64_t& word,
                                                           const std::byte*& payload) const noexcept {
    if (slot_ == end_) [[unlikely]]
      return false;
    if (slot_->header.load(std::memory_order_acquire) != header_) [[unlikely]]
      return false;
    word = slot_->word;
    payload = slot_->payload;
    return true;
  }
  /// Reads the word of the message `distance` places behind head(), as a hint: it is certain only once the
  /// message is at the head.
  [[nodiscard]] bool peek_ahead(std::uint64_t distance, std::uint64_t& word) const noexcept {
    if (static_cast<std::uint64_t>(end_ - slot_) <= distance) return false;
    const Slot& slot = slot_[distance];
    const std::uint64_t header = slot.header.load(std::memory_order_acquire);
    if ((header & ~kSize) != (header_ & ~kSize)) return false;
    word = slot.word;
    return true;
  }
  /// Prefetches for writing the line of the slot kFetched places further on, which will be cleared soon, if
  /// fetches_ahead(): one transfer then brings both the message and the ownership of the line.
  [[gnu::always_inline]] inline void fetch_ahead() const noexcept {
    if (fetches_ahead()) prefetch_for_write(slot_ + kFetched);
  }
  /// Returns true when a message has probably arrived there; if none has, the sender would have to fetch the
  /// line again.
  [[nodiscard]] bool fetches_ahead() const noexcept { return slot_ < fetch_end_; }
  static constexpr std::uint64_t kFetched = 8;
  /// The number of slots of each message.
  [[nodiscard]] static constexpr std::size_t slots() noexcept { return 1; }
  /// Payload bytes of the message that look() has shown last.
  [[nodiscard]] std::size_t size() const noexcept { return size_in(header_); }
  /// Returns this batch, cut after `most` messages.
  [[nodiscard]] SlotBatch first(std::size_t most) const noexcept {
    SlotBatch part = *this;
    if (static_cast<std::size_t>(end_ - slot_) > most) {
      part.end_ = slot_ + most;
      part.end_head_ = head() + most;
    }
    return part;
  }
  /// Goes on where a part, or a copy, of this batch has ended.
  void resume_behind(const SlotBatch& part) noexcept {
    slot_ = part.slot_;
    header_ = part.header_;
  }
  /// Ends the message at head(): its slot is free.
  void advance() noexcept {
    // A header is cleared because that costs the sender's next write less than a header that it has to
    // compare.
    slot_->header.store(0, std::memory_order_relaxed);
    ++slot_;
  }

 private:
  static constexpr std::uint64_t kSize = std::uint64_t{0xffff} << 16;
  [[nodiscard]] static std::size_t size_in(std::uint64_t header) noexcept { return header >> 16 & 0xffff; }

  Slot* slot_;  // at head()
  Slot* end_;
  Slot* fetch_end_;         // before it, the message kFetched slots further on has probably arrived
  std::uint64_t header_;    // of all messages that are as large as the last one shown
  std::uint64_t end_head_;  // position of end_
  int peer_;
  std::uint8_t channel_;
};

}  // namespace weft::detail
