// Messages that take several slots of a lane: how many slots, and the fast paths that write one.
#pragma once

#include <weft/detail/lane.hpp>
#include <weft/detail/multi_slot_batch.hpp>
#include <weft/types.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::network {

using detail::slots_for;

/// Trailer behind the payload of a message that lies in slots.
struct MultiSlotTrailer {
  std::uint64_t bits = 0;
  std::size_t size = 0;  // of the trailer: 0 or 8 bytes
};

/// Writes a message into the reply slot of a lane that the caller has entered. Returns false, without effect,
/// when the reply slot is not here or too small for the message, or the peer has left.
[[nodiscard]] bool write_into_reply_slot(detail::SendLane& lane, std::uint64_t word, std::uint8_t channel,
                                         Bytes payload, const MultiSlotTrailer& trailer) noexcept;

/// Writes a message that lies in a packet of this rank, its `size` bytes with the trailer included, into one
/// slot of a lane that the caller has entered. The packet then belongs to the peer. Returns false, without
/// effect, when no slot is free or the peer has left.
[[nodiscard]] bool write_packet(detail::SendLane& lane, std::uint64_t word, std::uint8_t channel,
                                std::byte* packet, std::uint32_t index, std::size_t size,
                                const MultiSlotTrailer& trailer) noexcept;

}  // namespace weft::network
