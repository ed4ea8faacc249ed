// How closely the receiver of a lane follows its sender.
#pragma once

#include <weft/detail/lane.hpp>
#include <weft/detail/processor.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace weft::network::shm {

/// Decides when the receiver waits before it looks at the next slot of a ring.
///
/// A receiver that keeps up with its sender takes every line while the sender is about to write it, and the
/// sender waits for each line (180 million messages/s instead of 290). While messages stream, the receiver of
/// a single lane keeps a distance to the sender, which it checks by reading a slot further on; and it never
/// prefetches.
class StreamPacing {
 public:
  static constexpr std::uint64_t kStreamBegins = 256;  // messages without a gap; fewer may be a window
  static constexpr std::uint64_t kDistance = 192;      // slots
  static constexpr std::uint64_t kBlock = 32;          // slots between two checks of the distance
  static constexpr std::uint64_t kStreamGoesOn = 4;    // messages after a pause
  static constexpr int kPauses = 32;                   // up to a microsecond

  /// Called when the receiver goes on in a ring that has no messages yet.
  void begin_ring() noexcept { awaited_ = 0; }

  /// What one poll of the lane keeps in registers.
  class Visit {
   public:
    /// `alone`: no other lane is polled, so that the visit may wait. end() must follow.
    Visit(StreamPacing& pacing, bool alone) noexcept
        : pacing_(pacing), alone_(alone), streamed_(pacing.streamed_), paused_at_(streamed_) {}

    void took(std::uint64_t messages) noexcept { streamed_ += messages; }
    /// Called when the next slot is empty. Returns true after a pause, when more messages of a stream may
    /// have come; false ends the stream.
    [[nodiscard, gnu::always_inline]] inline bool awaits_more() noexcept {
      if (!is_streaming() || streamed_ - paused_at_ < kStreamGoesOn) {
        streamed_ = 0;
        return false;
      }
      paused_at_ = streamed_;
      let_sender_ahead();
      return true;
    }
    /// Called before messages of `each` slots are taken from `head` on: waits once when the sender of a
    /// stream is nearer than kDistance. Returns the number of messages that may be taken before the next
    /// call, at most `most`.
    [[nodiscard, gnu::always_inline]] inline std::uint64_t keep_distance(const detail::Slot* slots,
                                                                         std::uint64_t mask,
                                                                         std::uint64_t head,
                                                                         std::uint64_t each,
                                                                         std::uint64_t most) noexcept {
      // A short ring has no room for the distance.
      if (!is_streaming() || mask <= 2 * kDistance) return most;
      const std::uint64_t ahead = head + kDistance / each * each;
      // When the ring ends before, no message begins at that position.
      const bool is_in_ring = each == 1 || (ahead & mask) >= (head & mask);
      if (is_in_ring && !is_written(slots, mask, ahead) && pacing_.goes_on(slots, mask, head)) {
        let_sender_ahead();
        pacing_.awaited_ = ahead;
      }
      return std::min(most, std::max<std::uint64_t>(kBlock / each, 1));
    }
    void end() noexcept { pacing_.streamed_ = streamed_; }

   private:
    [[nodiscard]] bool is_streaming() const noexcept { return streamed_ >= kStreamBegins && alone_; }

    StreamPacing& pacing_;
    const bool alone_;
    std::uint64_t streamed_;
    std::uint64_t paused_at_;  // streamed_ at the last pause of this visit
  };

 private:
  static void let_sender_ahead() noexcept {
    for (int count = 0; count < kPauses; ++count) detail::cpu_pause();
  }
  /// Returns true when a message has been written at the position. Reads a line that the sender may be about
  /// to write.
  [[nodiscard]] static bool is_written(const detail::Slot* slots, std::uint64_t mask,
                                       std::uint64_t position) noexcept {
    const std::uint64_t header = slots[position & mask].header.load(std::memory_order_relaxed);
    const std::uint32_t lap = static_cast<std::uint32_t>(header >> 32) & ~(detail::kPassed - 1);
    return header != 0 && lap == static_cast<std::uint32_t>(detail::lap_of(position, mask));
  }
  /// Returns true when the sender has written on since the receiver last waited for it. A sender that has
  /// stopped, perhaps because it has lost its core, is not waited for again while the remaining messages are
  /// taken.
  [[nodiscard]] bool goes_on(const detail::Slot* slots, std::uint64_t mask,
                             std::uint64_t head) const noexcept {
    return awaited_ <= head || is_written(slots, mask, awaited_);
  }

  std::uint64_t awaited_ = 0;   // position that the last pause has waited for
  std::uint64_t streamed_ = 0;  // messages that have come without gaps
};

}  // namespace weft::network::shm
