// Blocking waits: spin, yield, park.
#pragma once

#include "core/wait/spin.hpp"
#include "core/wait/unwoken_sleep.hpp"
#include "network/network.hpp"

#include <atomic>
#include <cstdint>

namespace weft::detail {

/// A parked thread in the list of the object it waits for.
struct ParkedThread {
  const void* object;
  network::Port* port;
  std::uint32_t bits;  // of this thread, for Port::wake
  ParkedThread* next;
};

/// The pauses of a wait that cannot be woken: yields, later sleeps.
class UnwokenPauses {
 public:
  /// Called after progress: the wait counts anew.
  void restart() noexcept { yields_ = 0; }
  void pause(Spin& spin) noexcept;

 private:
  static constexpr std::uint32_t kYields = 64;
  std::uint32_t yields_ = 0;
  std::int64_t since_ = 0;  // the first sleep, in nanoseconds
};

/// Whether threads that only poll completion objects give way: the attribute poll_yield of the runtime whose
/// device was opened last, since such polls know no runtime.
extern constinit std::atomic<bool> empty_polls_yield;

/// Returns what the calling thread knows about its core.
[[nodiscard]] CoreShare& core_share() noexcept;

}  // namespace weft::detail
