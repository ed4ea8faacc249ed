// What the members of a team on one host share: inboxes, channels, slots.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::collective {

/// What a message is, in all but the lowest 8 bits of a word: number of the run (36 bits) | signature of the
/// call (8) | step (12). The lowest bits are those of the number of the message in its channel: a slot holds
/// the stamp of this lap or of the one before it.
class MessageWord {
 public:
  [[nodiscard]] static constexpr std::uint64_t of(std::uint64_t run, std::uint32_t signature) noexcept {
    return run << kRunShift | std::uint64_t{signature & 0xff} << 20;
  }
  [[nodiscard]] static constexpr std::uint64_t with_step(std::uint64_t word, std::uint32_t step) noexcept {
    return word | std::uint64_t{step & 0xfff} << 8;
  }
  [[nodiscard]] static constexpr std::uint64_t stamp_of(std::uint64_t word, std::uint32_t number) noexcept {
    return word | (number & kNumber);
  }
  [[nodiscard]] static constexpr std::uint64_t number_in(std::uint64_t stamp) noexcept {
    return stamp & kNumber;
  }
  [[nodiscard]] static constexpr std::uint64_t word_in(std::uint64_t stamp) noexcept {
    return stamp & ~kNumber;
  }
  /// Returns true when the run of `found` comes before that of `word`; numbers of runs wrap around.
  [[nodiscard]] static constexpr bool is_of_earlier_run(std::uint64_t found, std::uint64_t word) noexcept {
    const std::uint64_t age = ((word >> kRunShift) - (found >> kRunShift)) & kRuns;
    return age != 0 && age <= kRuns / 2;
  }

 private:
  static constexpr std::uint32_t kRunShift = 28;
  static constexpr std::uint64_t kRuns = (std::uint64_t{1} << (64 - kRunShift)) - 1;
  static constexpr std::uint64_t kNumber = 0xff;
};

/// A line of its own. The sender writes it, and `stamp` last. A payload that does not fit lies in the ring of
/// the channel: each in one piece, from a line on, behind the one before it; what is left at the end of the
/// ring is passed over.
struct alignas(64) ChannelSlot {
  static constexpr std::size_t kBytes = 48;
  std::atomic<std::uint64_t> stamp{0};
  std::atomic<std::uint64_t> size{0};  // of the payload
  std::byte data[kBytes];
};
static_assert(sizeof(ChannelSlot) == 64);

struct alignas(64) Channel {  // the bytes of the ring follow it
  static constexpr std::uint32_t kSlots = 32;
  std::atomic<std::uint32_t> received{0};  // messages; the receiver writes it
  alignas(64) std::array<ChannelSlot, kSlots> slots;
};

struct alignas(64) Inbox {  // channels follow it, by the index of the sender
  static constexpr std::uint32_t kOpen = 0x77656674;
  std::atomic<std::uint32_t> is_open{0};
};

/// Where payloads lie in the ring of a channel: sender and receiver count alike.
class RingPositions {
 public:
  static constexpr std::size_t kBytes = std::size_t{16} << 10;

  /// The first byte of a payload that is stored next, and how many bytes have been used then.
  struct Position {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    [[nodiscard]] std::size_t offset() const noexcept { return begin % kBytes; }
  };
  /// `size`: at most kBytes.
  [[nodiscard]] Position next(std::size_t size) const noexcept {
    std::uint64_t begin = head_;
    if (begin % kBytes + size > kBytes) begin += kBytes - begin % kBytes;
    return {begin, (begin + size + 63) / 64 * 64};
  }
  void take(const Position& position) noexcept { head_ = position.end; }
  /// Bytes that were ever used.
  [[nodiscard]] std::uint64_t head() const noexcept { return head_; }

 private:
  std::uint64_t head_ = 0;
};

}  // namespace weft::collective
