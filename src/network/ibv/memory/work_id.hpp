// The numbers by which completions name what has been posted (wr_id).
#pragma once

#include "network/ibv/memory/arrival_buffers.hpp"

#include <cstdint>

namespace weft::network::ibv {

/// What a completion belongs to; the upper two bits of its number.
enum class Origin : std::uint64_t {
  receive,        // a receive of the shared queue; the rest is the address of its buffer
  send,           // the rest is the index of a connection, and in the lower half the position in its queue
  card_received,  // a datagram; the rest is its slot
  card_sent,
};

inline constexpr int kOriginShift = 62;

[[nodiscard]] inline std::uint64_t id_of(Origin origin, std::uint64_t rest) noexcept {
  return static_cast<std::uint64_t>(origin) << kOriginShift | rest;
}
[[nodiscard]] inline std::uint64_t id_of(const ReceiveBuffer& buffer) noexcept {
  return id_of(Origin::receive, reinterpret_cast<std::uint64_t>(&buffer));
}
[[nodiscard]] inline std::uint64_t id_of_send(std::uint32_t connection, std::uint32_t position) noexcept {
  return id_of(Origin::send, std::uint64_t{connection} << 32 | position);
}

[[nodiscard]] inline Origin origin_of(std::uint64_t id) noexcept {
  return static_cast<Origin>(id >> kOriginShift);
}
[[nodiscard]] inline std::uint64_t rest_of(std::uint64_t id) noexcept {
  return id & ((std::uint64_t{1} << kOriginShift) - 1);
}
[[nodiscard]] inline ReceiveBuffer& received_by(std::uint64_t id) noexcept {
  return *reinterpret_cast<ReceiveBuffer*>(rest_of(id));
}

}  // namespace weft::network::ibv
