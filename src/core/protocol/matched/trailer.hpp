// The trailer of an incoming send.
#pragma once

#include "core/protocol/wire.hpp"
#include "network/network.hpp"

namespace weft::core {

/// Reads the trailer. Returns false when it is invalid, which `sink` then learns.
bool read_trailer(const Message& arrival, MatchTrailer& trailer, network::Sink& sink) noexcept;

}  // namespace weft::core
