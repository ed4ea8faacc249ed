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
  RemoteCompletion signal;  // empty: none was asked for
  std::uint32_t tag;
  bool is_put;                  // the network announces nothing after a get
  std::size_t immediate_bytes;  // of the network
};

/// An immediate of 8 bytes is handle and tag in the form that a message has them. One of 4 bytes has
/// id(8) | generation(8) | tag(16).
[[nodiscard]] constexpr SignalBy select_signal(const SignalFacts& facts) noexcept {
  if (facts.signal.generation() == 0) return SignalBy::nothing;
  const bool fits = facts.immediate_bytes >= 8 || (facts.immediate_bytes >= 4 && facts.signal.id() <= 0xff &&
                                                   facts.signal.generation() <= 0xff && facts.tag <= 0xffff);
  return facts.is_put && fits ? SignalBy::immediate : SignalBy::message;
}
[[nodiscard]] constexpr std::uint64_t immediate_of(const SignalFacts& facts) noexcept {
  if (facts.immediate_bytes >= 8) return detail::handle_word(facts.signal, facts.tag);
  return std::uint64_t{facts.signal.id()} << 24 | std::uint64_t{facts.signal.generation()} << 16 | facts.tag;
}
/// Returns handle and tag in the form that a message has them. `bytes`: that the network has carried.
[[nodiscard]] constexpr std::uint64_t word_of_immediate(std::uint64_t immediate, std::size_t bytes) noexcept {
  if (bytes >= 8) return immediate;
  return (immediate >> 24 & 0xff) << 48 | (immediate >> 16 & 0xff) << 32 | (immediate & 0xffff);
}

}  // namespace weft::core
