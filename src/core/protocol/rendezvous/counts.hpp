// What the two halves of a rendezvous count together.
#pragma once

#include "core/protocol/context.hpp"

#include <atomic>
#include <cstdint>

namespace weft::core {

struct RendezvousCounts {
  alignas(64) std::atomic<std::uint32_t> working{0};  // records that step() has to continue
  std::atomic<std::uint32_t> outstanding{0};          // operations of this rank that have not ended
  std::atomic<std::uint32_t> awaiting{
      0};  // transfers of the receiver, in use; and what other protocols await
};

/// Returns true when nothing more will arrive from the peer. `is_over`: by rank, true when everything that
/// had arrived from a peer that has left has been delivered.
[[nodiscard]] inline bool is_lost(const Context& context, int peer,
                                  const std::atomic<bool>* is_over) noexcept {
  // Pairs with the release of the thread that has delivered the last message.
  return context.port->has_left(peer) && is_over[peer].load(std::memory_order_acquire);
}

}  // namespace weft::core
