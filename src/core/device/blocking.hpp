// Calls that post a message or a receive and wait until it has been accepted and, without a completion object
// of the program, until it has ended.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/device/device_state.hpp"

#include <source_location>
#include <span>

namespace weft::core {

Outcome send_am(detail::DeviceState& device, int peer, RemoteCompletion remote, Bytes bytes,
                const ActiveMessageOptions& options, const std::source_location& where, Caller caller);
Outcome send(detail::DeviceState& device, int peer, std::uint64_t tag, Bytes bytes,
             const SendOptions& options, const std::source_location& where, Caller caller);
Outcome send(detail::DeviceState& device, int peer, std::uint64_t tag, std::span<const Bytes> parts,
             const SendOptions& options, const std::source_location& where, Caller caller);
Message receive(detail::DeviceState& device, int source, std::uint64_t tag, MutableBytes buffer,
                const ReceiveOptions& options, const std::source_location& where);
Message receive(detail::DeviceState& device, int source, std::uint64_t tag,
                std::span<const MutableBytes> buffers, const ReceiveOptions& options,
                const std::source_location& where);

}  // namespace weft::core
