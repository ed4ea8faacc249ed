// Messages that take several slots of a lane: how many, and the short way to write one.
#pragma once

#include <weft/detail/lane.hpp>
#include <weft/detail/wide_run.hpp>
#include <weft/types.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::network {

using detail::slots_for;

/// What is behind the payload of a message in slots.
struct WideTrailer {
  std::uint64_t bits = 0;
  std::size_t size = 0;  // 0 or 8 bytes
};

/// Writes a message into the shuttle of a lane that the caller has entered, where that is here and has room
/// for it. False without effect: it is not, or the peer is gone.
[[nodiscard]] bool write_into_shuttle(detail::SendLane& lane, std::uint64_t word, std::uint8_t channel,
                                      Bytes payload, const WideTrailer& trailer) noexcept;

/// Writes a message that lies in a packet of this rank, its `size` bytes with the trailer included, into one
/// slot of a lane that the caller has entered. The packet is the peer's then. False without effect: none is
/// free.
[[nodiscard]] bool write_packet(detail::SendLane& lane, std::uint64_t word, std::uint8_t channel,
                                std::byte* packet, std::uint32_t index, std::size_t size,
                                const WideTrailer& trailer) noexcept;

}  // namespace weft::network
