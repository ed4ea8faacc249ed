// What a test can make happen at the moment of a barrier in all threads: membarrier(2).
//
// A thread that pays for such a barrier changes something, runs it, and then looks at what others may have
// changed. What a test changes inside the barrier is what another thread had on its way: that thread looked
// before the first step, and its change is seen from the barrier on. So one order of steps that no test could
// hope to meet is forced, on the callers' own code; and where a barrier has been left out, nothing happens,
// which the test notices.
#pragma once

#include <functional>

namespace weft::test {

enum class BarrierOf : unsigned char {
  process,  ///< all threads of this process
  job,      ///< all threads of all processes that have prepared themselves
};

/// Calls `hook` at each barrier, in the thread that executes it, before the kernel does. Not from inside the
/// hook. One at a time.
class BarrierWatch {
 public:
  explicit BarrierWatch(std::function<void(BarrierOf)> hook);
  ~BarrierWatch();
  BarrierWatch(const BarrierWatch&) = delete;
  BarrierWatch& operator=(const BarrierWatch&) = delete;
};

}  // namespace weft::test
