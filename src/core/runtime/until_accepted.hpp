// Posting with patience.
#pragma once

#include "core/runtime/device_state.hpp"
#include "core/runtime/waiting.hpp"

namespace weft::detail {

template <class Post>
Status DeviceState::until_accepted(const Post& post, bool exclusive) {
  std::uint32_t idle = 0;
  for (;;) {
    const Status status = post();
    if (status.is_accepted()) return status;
    if (progress(exclusive) != 0) {
      idle = 0;
    } else if (++idle < spin_) {
      __builtin_ia32_pause();
    } else {
      pause_idle(idle - spin_);
    }
  }
}

}  // namespace weft::detail
