// A clock that stands: what waits for time does not happen, and what does not wait for it does.
#pragma once

#include <cstdint>

namespace weft::test {

/// While it lives, CLOCK_MONOTONIC stands in all threads of this program, and with it the clocks of the
/// standard library and of weft. Sleeps end as ever. One at a time.
///
/// So that nothing waits for ever, it goes on after a few seconds, and then has not stood().
class StandingClock {
 public:
  StandingClock();
  ~StandingClock();
  StandingClock(const StandingClock&) = delete;
  StandingClock& operator=(const StandingClock&) = delete;

  /// Moves on by so many nanoseconds, and stands there.
  void advance(std::int64_t nanoseconds);
  [[nodiscard]] bool stood() const;
};

}  // namespace weft::test
