// Times by which something has to have happened.
#pragma once

#include "base/clock.hpp"
#include "core/deadline/deadlines.hpp"

#include <weft/types.hpp>

#include <cstdint>

namespace weft::detail {

/// The time when `timeout` has passed, by base::now_ns().
[[nodiscard]] inline std::int64_t time_after(Timeout timeout) noexcept {
  const std::int64_t now = base::now_ns();
  return timeout.count() < core::Deadlines::kNever - now ? now + timeout.count() : core::Deadlines::kNever;
}

/// How long a call that posts again and again goes on.
class Patience {
 public:
  explicit Patience(Timeout timeout) noexcept
      : end_(timeout.count() != 0 ? time_after(timeout) : core::Deadlines::kNever) {}
  /// What is left, as a timeout of options: 0: there is none; less: none of it.
  [[nodiscard]] Timeout left() const noexcept {
    if (end_ == core::Deadlines::kNever) return {};
    const std::int64_t left = end_ - base::now_ns();
    return Timeout::of_nanoseconds(left > 0 ? left : -1);
  }

 private:
  const std::int64_t end_;
};

}  // namespace weft::detail
