// Waiting for a lock that is held for a few instructions.
#pragma once

#include <weft/detail/processor.hpp>

#include <sched.h>
#include <time.h>
#include <cstdint>

namespace weft::concurrent {

/// For slow paths that must acquire a lock. The holder nearly always runs on another core; it may have lost
/// its core, and with thread priorities it may only get one when this thread sleeps.
class Backoff {
 public:
  void wait() noexcept {
    ++steps_;
    if (steps_ % kSpins != 0) {
      weft::detail::cpu_pause();
    } else if (steps_ < kSpins * kYields) {
      ::sched_yield();
    } else {
      const timespec moment{0, 50'000};
      ::nanosleep(&moment, nullptr);  // a signal ends it sooner, which does no harm
    }
  }

 private:
  static constexpr std::uint32_t kSpins = 64;
  static constexpr std::uint32_t kYields = 256;
  std::uint32_t steps_ = 0;
};

}  // namespace weft::concurrent
