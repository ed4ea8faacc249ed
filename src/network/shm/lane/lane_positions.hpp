// Positions of a lane, read while another thread may be sending in it.
#pragma once

#include "concurrent/racy_read.hpp"
#include "network/shm/lane/send_state.hpp"

#include <atomic>
#include <cstdint>
#include <optional>

namespace weft::network::shm {

/// Returns the positions that a lane has used in all its rings, while another thread may be sending in it;
/// std::nullopt when the lane was moving to another ring or lap.
[[nodiscard]] inline std::optional<std::uint64_t> racy_positions(const SendState& state) noexcept {
  // The loads of `moves` pair with SendLane::begin_move() and end_move().
  const std::uint32_t moves = state.moves.load(std::memory_order_acquire);
  const std::uint64_t positions =
      concurrent::racy_word(state.earlier) + concurrent::racy_word(state.lap) +
      static_cast<std::uint64_t>(concurrent::racy_word(state.next) - concurrent::racy_word(state.slots));
  std::atomic_thread_fence(std::memory_order_acquire);
  if (moves % 2 != 0 || state.moves.load(std::memory_order_relaxed) != moves) return std::nullopt;
  return positions;
}

/// Finds the first slot of the last message in a lane's ring, or nullptr when the ring has none, while
/// another thread may be sending in it. Returns false when a thread is sending at this moment.
[[nodiscard]] inline bool racy_last_slot(const SendState& state, const detail::Slot*& last) noexcept {
  const std::uint32_t moves = state.moves.load(std::memory_order_acquire);
  const detail::Slot* const next = concurrent::racy_word(state.next);
  const detail::Slot* const slots = concurrent::racy_word(state.slots);
  const std::uint64_t lap = concurrent::racy_word(state.lap);
  const std::uint64_t mask = concurrent::racy_word(state.mask);
  const detail::Slot* const multi_slot_first = concurrent::racy_word(state.multi_slot_first);
  const detail::Slot* const multi_slot_end = concurrent::racy_word(state.multi_slot_end);
  const std::uint64_t multi_slot_lap = concurrent::racy_word(state.multi_slot_lap);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (moves % 2 != 0 || state.moves.load(std::memory_order_relaxed) != moves) return false;
  // A message of several slots is noted before it is committed.
  if (multi_slot_end != nullptr && multi_slot_first == next && multi_slot_lap == lap) return false;
  const std::uint64_t position = lap + static_cast<std::uint64_t>(next - slots);
  const bool is_wide = multi_slot_end != nullptr &&
                       multi_slot_lap + static_cast<std::uint64_t>(multi_slot_end - slots) == position;
  last = position == 0 ? nullptr : is_wide ? multi_slot_first : slots + ((position - 1) & mask);
  return true;
}

}  // namespace weft::network::shm
