// Put and get with signal: how the owner of the region is notified.
#pragma once

#include <weft/detail/lane.hpp>
#include <weft/types.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::core {

enum class SignalBy : std::uint8_t {
  nothing,    // no signal was asked for
  immediate,  // of the network's own put
  message,    // sent once the access has ended
};

/// The facts on which the choice depends.
struct SignalFacts {
  bool wanted;
  bool is_put;                  // the network announces nothing after a get
  std::size_t immediate_bytes;  // of the network
  int rank;                     // this rank, which the signal carries
  std::uint32_t tag;
};

[[nodiscard]] constexpr SignalBy select_signal(const SignalFacts& facts) noexcept {
  if (!facts.wanted) return SignalBy::nothing;
  const bool fits = facts.rank >= 0 && facts.rank <= 0xffff && facts.tag <= 0xffff;
  return facts.is_put && facts.immediate_bytes >= 8 && fits ? SignalBy::immediate : SignalBy::message;
}

/// The immediate value of a signal: id(16) | generation(16) | rank(16) | tag(16).
[[nodiscard]] constexpr std::uint64_t immediate_of(RemoteCompletion signal, int rank,
                                                   std::uint32_t tag) noexcept {
  return detail::handle_word(signal, static_cast<std::uint32_t>(rank) << 16 | tag);
}
[[nodiscard]] constexpr int rank_of_immediate(std::uint64_t immediate) noexcept {
  return static_cast<int>(immediate >> 16 & 0xffff);
}
/// Returns handle and tag in the form that a message has them.
[[nodiscard]] constexpr std::uint64_t word_of_immediate(std::uint64_t immediate) noexcept {
  return (immediate & 0xffffffff00000000U) | (immediate & 0xffff);
}

}  // namespace weft::core
