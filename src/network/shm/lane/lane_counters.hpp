// Counters of lanes, derived from the positions that they have reached.
#pragma once

#include "network/network.hpp"
#include "network/shm/lane/receive_lane.hpp"
#include "network/shm/lane/send_state.hpp"

namespace weft::network::shm {

// While other threads may be sending in the lane, or taking messages from it; exact when none is.
/// Adds what was sent in a lane.
void add_sent(const SendState& state, Port::Traffic& traffic) noexcept;
/// Adds what was taken from a lane.
void add_delivered(const ReceiveLane& lane, Port::Traffic& traffic) noexcept;

}  // namespace weft::network::shm
