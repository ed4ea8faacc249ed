// Posts one-sided accesses for an endpoint, or carries one out while the caller waits. A layer above the
// protocol: includes the device.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/device/device_state.hpp"

#include <weft/options.hpp>

#include <source_location>
#include <span>

namespace weft::core {

Status post_access(detail::DeviceState& device, const OneSided::Access& access, Caller caller);
/// Posts an access, and progresses until it has ended. `where`: the location of the call in the program.
Outcome perform_access(detail::DeviceState& device, OneSided::Access access,
                       const std::source_location& where, Caller caller);

// Accesses of several pieces.
Status post_pieces(detail::DeviceState& device, int peer, std::span<const PutPiece> pieces,
                   const AccessOptions& options, Caller caller);
Status post_pieces(detail::DeviceState& device, int peer, std::span<const GetPiece> pieces,
                   const AccessOptions& options, Caller caller);

}  // namespace weft::core
