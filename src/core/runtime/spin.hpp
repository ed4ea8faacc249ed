// How long a thread polls before it lets others run.
#pragma once

#include "base/clock.hpp"

#include <cstdint>

namespace weft::detail {

/// Counts the time of polls that found nothing. Time and not polls, because a poll takes 5 ns or 100: a
/// thread that gives its core away earlier than after what it costs to come back loses more than it gives,
/// above all when its partner of another rank has the core of that rank just now.
class Spin {
 public:
  explicit Spin(std::int64_t limit_ns) noexcept : limit_ns_(limit_ns) {}

  /// To be called after each such poll; pauses. False: the time is over, and counts anew from here on.
  [[nodiscard]] bool goes_on() noexcept {
    if (limit_ns_ == 0) return false;
    __builtin_ia32_pause();
    if (++polls_ % kPollsPerLook != 0) return true;
    const std::int64_t now = base::now_ns();
    if (since_ns_ == kNotYet) since_ns_ = now;
    if (now - since_ns_ < limit_ns_) return true;
    since_ns_ = kNotYet;
    return false;
  }
  /// A poll has found something.
  void restart() noexcept { since_ns_ = kNotYet; }

 private:
  static constexpr std::uint32_t kPollsPerLook = 16;  // at the clock, which takes as long as some polls
  static constexpr std::int64_t kNotYet = -1;

  const std::int64_t limit_ns_;
  std::int64_t since_ns_ = kNotYet;
  std::uint32_t polls_ = 0;
};

}  // namespace weft::detail
