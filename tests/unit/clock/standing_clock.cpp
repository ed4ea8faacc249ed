#include "unit/clock/standing_clock.hpp"

#include <dlfcn.h>
#include <time.h>
#include <atomic>
#include <cstdint>

namespace weft::test {
namespace {

using Function = int (*)(clockid_t, timespec*);
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMost = 8 * kSecond;
constexpr std::int64_t kRuns = -1;

std::atomic<std::int64_t> stands_at{kRuns};
std::atomic<std::int64_t> goes_on_at{0};  // on the clock that never stands

Function real() {
  static const auto function = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "clock_gettime"));
  return function;
}
std::int64_t time_of(clockid_t clock) {
  timespec time{};
  real()(clock, &time);
  return std::int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

}  // namespace

StandingClock::StandingClock() {
  goes_on_at = time_of(CLOCK_BOOTTIME) + kMost;
  stands_at = time_of(CLOCK_MONOTONIC);
}
StandingClock::~StandingClock() { stands_at = kRuns; }
void StandingClock::advance(std::int64_t nanoseconds) { stands_at += nanoseconds; }
bool StandingClock::stood() const { return time_of(CLOCK_BOOTTIME) < goes_on_at; }

}  // namespace weft::test

/// In the place of the C library's function, in this program.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                                    timespec* time) noexcept {
  using namespace weft::test;
  const std::int64_t at = clock == CLOCK_MONOTONIC ? stands_at.load() : kRuns;
  if (at == kRuns || time_of(CLOCK_BOOTTIME) >= goes_on_at) return real()(clock, time);
  time->tv_sec = at / kSecond;
  time->tv_nsec = at % kSecond;
  return 0;
}
