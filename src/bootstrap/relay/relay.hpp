// The bootstrap of a job over several hosts. One process of the job, the root, has the Server. On every other
// host an agent takes the connections of its ranks, which see what ranks of one host see, and passes their
// messages on to the root over one connection. The agent itself answers what is of one host only: the board,
// and descriptors that ranks lend.
#pragma once

#include <cstdint>

#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap::relay {

/// Frames between the agent and the root; FrameHeader::stream is the number of a rank's connection where
/// nothing else is said.
enum class FrameKind : std::uint32_t {
  message = 1,  // both ways: a local::Header and its payload
  closed,       // both ways: the connection has ended, or is to be ended
  rank_ended,   // to the root; argument: the rank; payload: how
  departed,  // to the agent; stream: the instance; argument: the rank; payload: 1 byte, 1 when it has failed
  end_rank,  // to the agent; argument: a rank that was declared failed; payload: why
};

/// The kind as the frame's header carries it.
[[nodiscard]] constexpr std::uint32_t number_of(FrameKind kind) noexcept {
  return static_cast<std::uint32_t>(kind);
}

inline constexpr std::size_t kLongestFrame = kMaximumGathered + 4096;

}  // namespace weft::bootstrap::relay
