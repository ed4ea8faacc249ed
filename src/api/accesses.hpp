// What the endpoint's calls that access memory of peers have in common.
#pragma once

#include "core/runtime/device_state.hpp"

namespace weft::detail {

Status post_access(DeviceState& device, const core::OneSided::Access& access, bool exclusive);
/// Posts, and progresses until the access has ended.
Outcome perform_access(DeviceState& device, core::OneSided::Access access, bool exclusive);

}  // namespace weft::detail
