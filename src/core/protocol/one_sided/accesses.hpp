// Posts one one-sided access for an endpoint, or carries one out while the caller waits. A layer above the
// protocol: includes the device.
#pragma once

#include "core/runtime/device_state.hpp"

namespace weft::detail {

Status post_access(DeviceState& device, const core::OneSided::Access& access, bool exclusive);
/// Posts an access, and progresses until it has ended.
Outcome perform_access(DeviceState& device, core::OneSided::Access access, bool exclusive);

}  // namespace weft::detail
