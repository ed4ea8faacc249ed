// Options of operations and objects: aggregates with defaults, most used field first.
#pragma once

#include <cstdint>

namespace weft {

class Completion;

/// Options of post_am and send_am.
struct ActiveMessageOptions {
  /// Signalled exactly once when the payload may be reused; none: the post itself says when (done), or the
  /// operation ends unobserved.
  Completion* completion = nullptr;
  /// Comes back in Message::user_data() of the completion above; does not travel.
  void* user_data = nullptr;
  /// Travels with the message; Message::tag() at the receiver.
  std::uint32_t tag = 0;
  /// false: a refused operation goes to the backlog (status posted) while that has room. Inside handlers
  /// this is always so.
  bool may_retry = true;
  /// true: when the operation ends during the post, the answer is done and the completion object is not
  /// signalled. The faster choice.
  bool may_complete_now = false;
};

/// Options of Runtime::expose.
struct ExposeOptions {
  /// Symmetric name of the object within the runtime, 0 to 65535. Every rank that is to be reached under a
  /// handle exposes its own object under the same id.
  std::uint32_t id = 0;
  /// Home device, 0 to devices_max - 1: the device on which messages for this object arrive.
  std::uint32_t device = 0;
};

/// Options of a Device.
struct DeviceOptions {
  static constexpr std::int32_t kNextFree = -1;
  /// Explicit index, 0 to devices_max - 1, under which peers address the device; by default the lowest
  /// index that is not open.
  std::int32_t index = kNextFree;
};

}  // namespace weft
