// Which progress calls the current thread is inside of.
#pragma once

#include "core/runtime/device_state.hpp"

namespace weft::detail {

/// Lives on the stack of DeviceState::progress. Posts from inside go to the backlog when they are refused,
/// and progress of a device that the thread is inside of returns at once.
struct DeviceState::Frame {
  explicit Frame(const DeviceState& entered) noexcept : device(&entered), outer(frames) { frames = this; }
  ~Frame() { frames = outer; }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  [[nodiscard]] static bool inside(const DeviceState& device) noexcept {
    for (const Frame* frame = frames; frame != nullptr; frame = frame->outer)
      if (frame->device == &device) return true;
    return false;
  }

  const DeviceState* device;
  Frame* outer;
};

}  // namespace weft::detail
