// Threads that wait: spin, yield, park.
#pragma once

#include "core/runtime/spin.hpp"
#include "network/network.hpp"

#include <cstdint>

namespace weft::detail {

/// A parked thread in the list of what it waits for.
struct ParkedThread {
  const void* object;
  network::Port* port;
  std::uint32_t bits;  // of this thread, for Port::wake
  ParkedThread* next;
};

/// One step of waiting without anything to be woken by: yields, later sleeps for up to a millisecond.
void pause_idle(Spin& spin, std::uint32_t step) noexcept;
/// What the calling thread knows of its core.
[[nodiscard]] CoreShare& core_share() noexcept;

}  // namespace weft::detail
