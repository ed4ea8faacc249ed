// Calls that post a message and wait until it has been accepted and, without a completion object of the
// program, until it has ended.
#pragma once

#include "core/protocol/caller.hpp"
#include "core/runtime/device_state.hpp"

#include <source_location>
#include <span>

namespace weft::core {

Outcome send_am(detail::DeviceState& device, int peer, RemoteCompletion remote, Bytes bytes,
                const ActiveMessageOptions& options, const std::source_location& where, Caller caller);

}  // namespace weft::core
