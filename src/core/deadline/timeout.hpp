// Converts the timeout of a call to the time of its deadline, and back to the time that is left.
#pragma once

#include "base/clock.hpp"
#include "core/deadline/deadlines.hpp"

#include <weft/types.hpp>

#include <cstdint>

namespace weft::detail {

/// Returns the time when `timeout` has passed, by base::now_ns(); kNow when it is negative.
[[nodiscard]] inline std::int64_t time_after(Timeout timeout) noexcept {
  if (timeout.count() < 0) return core::Deadlines::kNow;
  const std::int64_t now = base::now_ns();
  return timeout.count() < core::Deadlines::kNever - now ? now + timeout.count() : core::Deadlines::kNever;
}

/// The time that is left to a call that posts again and again.
class TimeLeft {
 public:
  explicit TimeLeft(Timeout timeout) noexcept
      : end_(timeout.count() != 0 ? time_after(timeout) : core::Deadlines::kNever) {}
  /// Returns the remaining time, as a timeout of options: 0: there is no deadline; negative: it has passed.
  [[nodiscard]] Timeout left() const noexcept {
    if (end_ == core::Deadlines::kNever) return {};
    const std::int64_t left = end_ - base::now_ns();
    return Timeout::of_nanoseconds(left > 0 ? left : -1);
  }

 private:
  const std::int64_t end_;
};

}  // namespace weft::detail
