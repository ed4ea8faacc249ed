// Reading what another thread may be writing.
#pragma once

#include "network/shm/port.hpp"

#include <atomic>
#include <cstdint>
#include <optional>

namespace weft::network::shm {

/// For whoever wants to know about how much it is. (Naturally aligned words are read whole. ThreadSanitizer
/// is told that this is meant.)
template <class Word>
[[nodiscard]] __attribute__((no_sanitize("thread"), noinline)) Word glance(const Word& value) noexcept {
  return *static_cast<const volatile Word*>(&value);
}

/// Positions that a lane has used, of all its rings, while another thread may be sending in it. Nothing: it
/// was moving to another ring or lap.
[[nodiscard]] inline std::optional<std::uint64_t> glance_at_positions(const SendState& state) noexcept {
  // Both pair with SendLane::begin_move() and end_move().
  const std::uint32_t moves = state.moves.load(std::memory_order_acquire);
  const std::uint64_t positions = glance(state.earlier) + glance(state.lap) +
                                  static_cast<std::uint64_t>(glance(state.next) - glance(state.slots));
  std::atomic_thread_fence(std::memory_order_acquire);
  if (moves % 2 != 0 || state.moves.load(std::memory_order_relaxed) != moves) return std::nullopt;
  return positions;
}

}  // namespace weft::network::shm
