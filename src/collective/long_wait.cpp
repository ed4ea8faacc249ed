#include "collective/long_wait.hpp"

#include "collective/collective_context.hpp"

#include <algorithm>
#include <chrono>

namespace weft::collective {

namespace {

constexpr std::uint32_t kLooksBeforeClock = 256;
constexpr std::uint32_t kLooksBeforeQuestion = 16;
constexpr std::int64_t kFirstPause = 20'000'000;  // ns, until the first question
constexpr std::int64_t kLongestPause = 5'000'000'000;

}  // namespace

std::int64_t now_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

bool LongWait::is_over() noexcept {
  if (is_ready_(what_)) return true;
  // Most waits end soon, and need no clock.
  if (++looks_ < kLooksBeforeClock) return false;
  RollCall& roll_call = context_.roll_call();
  differs_ = roll_call.differs(number_);
  if (differs_) return true;
  const std::int64_t now = now_ns();
  if (context_.is_late(number_, now)) {
    roll_call.tell_expiry(number_, peers_.size() == 1 ? peers_.front() : -1);
    differs_ = true;
    return true;
  }
  if (pause_ == 0) {
    pause_ = kFirstPause;
  } else if (now >= asks_at_) {
    // A thread that had no processor meanwhile looks first at what has come: a rank that has sent everything
    // may have left, and would never take the question.
    if (++late_looks_ < kLooksBeforeQuestion) return false;
    late_looks_ = 0;
    roll_call.ask(number_, peers_, asked_++);
    pause_ = std::min(2 * pause_, kLongestPause);
  } else {
    return false;
  }
  asks_at_ = now + pause_;
  return false;
}

}  // namespace weft::collective
