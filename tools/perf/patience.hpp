#pragma once

#include <sched.h>

#include <cstdint>

namespace weft::tools::perf {

/// How a thread waits: it polls, and where ranks have several threads lets others run now and then. The same
/// for every library that leaves waiting to its user.
class Patience {
 public:
  explicit Patience(bool yields = false) : yields_(yields) {}
  template <class Transport>
  void poll(Transport& transport) {
    transport.progress();
    if (yields_ && ++polls_ % kPollsPerYield == 0) ::sched_yield();
  }

 private:
  static constexpr std::uint32_t kPollsPerYield = 64;
  const bool yields_;
  std::uint32_t polls_ = 0;
};

}  // namespace weft::tools::perf
