// How long a message and the credit for it take.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::network::session {

/// The shortest of the latest round trips to a peer, its program's progress included. Now and then a message
/// is timed: the peer is asked for credit for it. Times in nanoseconds of the monotonic clock.
class RoundTrip {
 public:
  static constexpr std::uint32_t kMessagesPerLook = 16;  // between reads of the clock
  static constexpr std::int64_t kPeriod = 10'000'000;    // between two timed messages
  static constexpr std::int64_t kRemembers =
      1'000'000'000;  // a longer time begins to count after one to two of these

  /// Called for each message that leaves. Returns true when it may be time to ask is_due().
  [[nodiscard]] bool count() noexcept { return ++messages_ % kMessagesPerLook == 0 && begin_ == 0; }
  [[nodiscard]] bool is_due(std::int64_t now) const noexcept { return now - last_ >= kPeriod; }
  /// The message has left.
  void begin(std::int64_t now) noexcept { begin_ = last_ = now; }
  [[nodiscard]] bool is_under_way() const noexcept { return begin_ != 0; }
  /// Credit for it has come.
  void end(std::int64_t now) noexcept {
    const std::int64_t time = std::max<std::int64_t>(now - begin_, 1);
    begin_ = 0;
    if (shortest_ == 0 || now - since_ > kRemembers) {
      before_ = shortest_;
      shortest_ = time;
      since_ = now;
    }
    shortest_ = std::min(shortest_, time);
  }
  /// 0: not known yet.
  [[nodiscard]] std::int64_t time() const noexcept {
    return before_ == 0 ? shortest_ : std::min(shortest_, before_);
  }

 private:
  std::uint32_t messages_ = 0;
  std::int64_t begin_ = 0;  // of the timed message; 0: none is under way
  std::int64_t last_ = -kPeriod;
  std::int64_t since_ = 0;     // when shortest_ began
  std::int64_t shortest_ = 0;  // since then
  std::int64_t before_ = 0;    // in the time before
};

/// How long a staged message waits for others although the program calls progress: nothing where the round
/// trip is short, and little of it elsewhere, but long enough that a program which calls progress after every
/// post pays for a system call and a credit for many messages.
[[nodiscard]] constexpr std::int64_t hold_of(std::int64_t round_trip) noexcept {
  constexpr std::int64_t kShort = 250'000;
  constexpr std::int64_t kLongest = 50'000;
  return round_trip < kShort ? 0 : std::min(round_trip / 32, kLongest);
}

}  // namespace weft::network::session
