// Messages that have arrived one after the other in slots of a lane, as their sink reads them.
#pragma once

#include <weft/detail/lane.hpp>
#include <weft/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// A run of messages of one channel and one peer, each in a slot of its own. The sink takes them in order and
/// stops where it likes; a run also ends before whatever is not of its kind, and where its ring ends.
class SlotRun {
 public:
  /// From position `head` on, at most `limit` messages, between which none has `passed` by the shuttle.
  /// `size`: payload bytes of the first one, if they are known. `expected`: as many have probably come.
  SlotRun(Slot* slots, std::uint64_t mask, std::uint64_t head, std::uint32_t passed, std::size_t limit,
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

  /// Member by member: copied as a whole, what was just written would be read in other parts, which waits
  /// until all that was written before has left the core, slots of other ranks included.
  [[gnu::always_inline]] inline SlotRun(const SlotRun& other) noexcept
      : slot_(other.slot_),
        end_(other.end_),
        fetch_end_(other.fetch_end_),
        header_(other.header_),
        end_head_(other.end_head_),
        peer_(other.peer_),
        channel_(other.channel_) {}
  SlotRun& operator=(const SlotRun&) = delete;

  [[nodiscard]] int peer() const noexcept { return peer_; }
  [[nodiscard]] std::uint8_t channel() const noexcept { return channel_; }
  [[nodiscard]] std::uint64_t head() const noexcept {
    return end_head_ - static_cast<std::uint64_t>(end_ - slot_);
  }

  /// Shows the message at head(); false at the end of the run.
  [[nodiscard, gnu::always_inline]] inline bool look(std::uint64_t& word, Bytes& payload) noexcept {
    if (slot_ == end_) return false;
    // Pairs with the release in post_slot and post_matched_slot.
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
  /// look() for a message with a payload as large as that of the last one shown; false also when it is not.
  [[nodiscard, gnu::always_inline]] inline bool look_for_alike(std::uint64_t& word,
                                                               const std::byte*& payload) const noexcept {
    if (slot_ == end_) [[unlikely]]
      return false;
    if (slot_->header.load(std::memory_order_acquire) != header_) [[unlikely]]
      return false;
    word = slot_->word;
    payload = slot_->payload;
    return true;
  }
  /// The word of the message `distance` places behind head(); not to be relied on before it is at the head.
  [[nodiscard]] bool look_ahead(std::uint64_t distance, std::uint64_t& word) const noexcept {
    if (static_cast<std::uint64_t>(end_ - slot_) <= distance) return false;
    const Slot& slot = slot_[distance];
    const std::uint64_t header = slot.header.load(std::memory_order_acquire);
    if ((header & ~kSize) != (header_ & ~kSize)) return false;
    word = slot.word;
    return true;
  }
  /// Asks for the line of the slot kFetched places further on, to be cleared soon, where fetches_ahead():
  /// with it the message comes and the line is this core's at once, instead of one after the other.
  [[gnu::always_inline]] inline void fetch_ahead() const noexcept {
    if (fetches_ahead()) prefetch_for_write(slot_ + kFetched);
  }
  /// Whether a message has probably come there; of one that has not, the sender would have to ask for the
  /// line again.
  [[nodiscard]] bool fetches_ahead() const noexcept { return slot_ < fetch_end_; }
  static constexpr std::uint64_t kFetched = 8;
  /// Of each message.
  [[nodiscard]] static constexpr std::size_t slots() noexcept { return 1; }
  /// Payload bytes of the message that look() has shown last.
  [[nodiscard]] std::size_t size() const noexcept { return size_in(header_); }
  /// The same run, ending after `most` messages at the latest.
  [[nodiscard]] SlotRun first(std::size_t most) const noexcept {
    SlotRun part = *this;
    if (static_cast<std::size_t>(end_ - slot_) > most) {
      part.end_ = slot_ + most;
      part.end_head_ = head() + most;
    }
    return part;
  }
  /// Goes on where a part, or a copy, of it has ended.
  void go_on_behind(const SlotRun& part) noexcept {
    slot_ = part.slot_;
    header_ = part.header_;
  }
  /// The message at head() has been taken: its slot is free.
  void advance() noexcept {
    // A cleared header costs the sender's next write less than one that it has to compare.
    slot_->header.store(0, std::memory_order_relaxed);
    ++slot_;
  }

 private:
  static constexpr std::uint64_t kSize = std::uint64_t{0xffff} << 16;
  [[nodiscard]] static std::size_t size_in(std::uint64_t header) noexcept { return header >> 16 & 0xffff; }

  Slot* slot_;  // at head()
  Slot* end_;
  Slot* fetch_end_;         // before it, what lies kFetched slots further on has probably come
  std::uint64_t header_;    // of all messages that are as large as the last one shown
  std::uint64_t end_head_;  // position of end_
  int peer_;
  std::uint8_t channel_;
};

}  // namespace weft::detail
