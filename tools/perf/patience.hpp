#pragma once

#include <sched.h>

#include <cstdint>

#include "base/clock.hpp"

namespace weft::tools::perf {

/// How a thread waits: it polls, and where ranks have several threads lets others run now and then. The same
/// for every library that leaves waiting to its user.
class Patience {
 public:
  explicit Patience(bool yields = false) : yields_(yields) {}
  template <class Transport>
  void poll(Transport& transport) {
    transport.progress();
    if (yields_ && ++polls_ % kPollsPerLook == 0) look_at_clock();
  }

 private:
  static constexpr std::uint32_t kPollsPerLook = 16;
  static constexpr std::int64_t kSpin_ns = 2000;  // about as long as it takes to be switched out and in again

  void look_at_clock() {
    const std::int64_t now = base::now_ns();
    if (since_ == 0) {
      since_ = now;
    } else if (now - since_ >= kSpin_ns) {
      ::sched_yield();
      since_ = 0;
    }
  }

  const bool yields_;
  std::uint32_t polls_ = 0;
  std::int64_t since_ = 0;  // 0: begins with the next look
};

}  // namespace weft::tools::perf
