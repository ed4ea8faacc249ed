// How long waits sleep that nobody can wake.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace weft::detail {

/// How long a wait that cannot be woken sleeps before it looks again, when it has waited in vain for `waited`
/// nanoseconds: from 50 microseconds to 5 milliseconds. An eighth of the time waited, so that what is awaited
/// is noticed an eighth late at most, and many ranks that wait for a long time leave the cores to those that
/// they wait for.
[[nodiscard]] constexpr std::chrono::nanoseconds unwoken_sleep(std::int64_t waited) noexcept {
  constexpr std::int64_t kShortest = 50'000;
  constexpr std::int64_t kLongest = 5'000'000;
  return std::chrono::nanoseconds(std::clamp(waited / 8, kShortest, kLongest));
}

}  // namespace weft::detail
