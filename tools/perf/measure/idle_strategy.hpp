#pragma once

#include <sched.h>

#include <cstdint>

#include "base/clock.hpp"

namespace weft::tools::perf {

/// The way a thread waits: it polls, and where ranks have several threads it yields now and then. The same
/// for every library that leaves waiting to its user.
class IdleStrategy {
 public:
  /// Kind of wait. A stream: for its arrivals, or for room; the other end may have much to do. An answer is
  /// about to come.
  enum class Awaits { answer, stream };
  explicit IdleStrategy(bool yields, Awaits awaits = Awaits::answer)
      : yields_(yields),
        spin_ns_(awaits == Awaits::answer ? 2000 : 300),
        polls_per_look_(awaits == Awaits::answer ? 64 : 16) {}
  template <class Transport>
  void poll(Transport& transport) {
    transport.progress();
    if (yields_ && (++polls_ & (polls_per_look_ - 1)) == 0) look_at_clock();
  }

 private:
  void look_at_clock() {
    const std::int64_t now = base::now_ns();
    if (since_ == 0) {
      since_ = now;
    } else if (now - since_ >= spin_ns_) {
      ::sched_yield();
      since_ = 0;
    }
  }

  const bool yields_;
  const std::int64_t spin_ns_;  // for an answer: about the time of two context switches
  // Polls between two reads of the clock; a power of two. A read takes 20 ns, which should rarely delay an
  // answer.
  const std::uint32_t polls_per_look_;
  std::uint32_t polls_ = 0;
  std::int64_t since_ = 0;  // start of the wait; 0: begins with the next read of the clock
};

}  // namespace weft::tools::perf
