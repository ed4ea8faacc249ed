// Threads that wait: spin, yield, park.
#pragma once

#include "core/runtime/core_share.hpp"
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

/// What the calling thread knows of its core.
[[nodiscard]] CoreShare& core_share() noexcept;

}  // namespace weft::detail
