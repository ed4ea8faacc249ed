// Posting with patience.
#pragma once

#include "core/runtime/device_state.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/runtime/waiting.hpp"

namespace weft::detail {

template <class Post>
Status DeviceState::until_accepted(const Post& post, const WaitPlace& place, bool exclusive) {
  core::WaitScope explained(runtime_.waits(), place, nullptr, static_cast<std::int32_t>(index_));
  std::uint32_t idle = 0;
  for (;;) {
    const Status status = post();
    if (status.is_accepted()) return status;
    if (progress(exclusive) != 0) {
      idle = 0;
    } else if (++idle < spin_) {
      __builtin_ia32_pause();
    } else {
      explained.enter();
      pause_idle(idle - spin_);
    }
  }
}

}  // namespace weft::detail
