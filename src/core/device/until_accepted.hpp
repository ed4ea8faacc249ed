// Blocking posts: post again, and progress, until the post is accepted.
#pragma once

#include "core/device/device_state.hpp"
#include "core/device/waiting.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/wait/spin.hpp"

namespace weft::detail {

template <class Post>
Status DeviceWaits::until_accepted(const Post& post, const WaitDescription& description,
                                   std::int32_t remote_id) {
  core::WaitScope explained(runtime_.waits(), description, nullptr,
                            static_cast<std::int32_t>(protocols_.context.device), remote_id);
  Spin spin(spin_ns_, core_share());
  UnwokenPauses pauses;
  for (;;) {
    const Status status = post();
    if (status.is_accepted()) {
      // The caller need not progress after a blocking call.
      while (protocols_.context.stages && !protocols_.context.port->flush()) device_.progress();
      return status;
    }
    if (device_.progress() != 0) {
      spin.restart();
      pauses.restart();
    } else if (!spin.goes_on()) {
      explained.enter(core::SignalScope::is_inside(protocols_.ends));
      explained.note_refusal(status.reason());
      pauses.pause(spin);
    }
  }
}

}  // namespace weft::detail
