// Blocking waits: spin, yield, park.
#pragma once

#include "core/wait/spin.hpp"
#include "network/network.hpp"

#include <cstdint>

namespace weft::detail {

/// A parked thread in the list of the object it waits for.
struct ParkedThread {
  const void* object;
  network::Port* port;
  std::uint32_t bits;  // of this thread, for Port::wake
  ParkedThread* next;
};

/// One step of a wait that cannot be woken: yields, later sleeps for up to a millisecond.
void pause_idle(Spin& spin, std::uint32_t step) noexcept;
/// Returns what the calling thread knows about its core.
[[nodiscard]] CoreShare& core_share() noexcept;

}  // namespace weft::detail
