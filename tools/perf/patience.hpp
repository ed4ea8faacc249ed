#pragma once

#include <sched.h>

#include <cstdint>

#include "base/clock.hpp"

namespace weft::tools::perf {

/// How a thread waits: it polls, and where ranks have several threads lets others run now and then. The same
/// for every library that leaves waiting to its user.
class Patience {
 public:
  /// A stream: arrivals of it, or room for more of it. Its other end may have much to do; an answer is about
  /// to come.
  enum class Awaits { answer, stream };
  explicit Patience(bool yields, Awaits awaits = Awaits::answer)
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
  const std::int64_t spin_ns_;  // of an answer: about what it takes to be switched out and in again
  // At the clock; a power of two. A look takes 20 ns, of which an answer must not meet many.
  const std::uint32_t polls_per_look_;
  std::uint32_t polls_ = 0;
  std::int64_t since_ = 0;  // 0: begins with the next look
};

}  // namespace weft::tools::perf
