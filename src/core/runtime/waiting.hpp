// Threads that wait: spin, yield, park.
#pragma once

#include "network/network.hpp"

#include <weft/completion/completion.hpp>

#include <cstdint>

namespace weft::detail {

/// A parked thread in the list of the completion object that it waits for.
struct ParkedThread {
  network::Port* port;
  std::uint32_t bits;  // of this thread, for Port::wake
  ParkedThread* next;
};

struct CompletionAccess {
  static std::atomic<ParkedThread*>& parked(Completion& completion) noexcept { return completion.parked_; }
};

/// One step of waiting without anything to be woken by: yields, later sleeps for up to a millisecond.
void pause_idle(std::uint32_t step) noexcept;

}  // namespace weft::detail
