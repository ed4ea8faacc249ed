// Sends what was accepted, for a thread that waits for other ranks and not for this device:
// core/runtime/runtime_carry.cpp.
#include "core/completion/object_end.hpp"
#include "core/device/device_state.hpp"
#include "network/unsent.hpp"

namespace weft::detail {

bool DeviceState::carry() noexcept {
  const auto posts_again = [this] {
    return endpoints_.is_shared() && (protocols().has_refused_work() || NodeRefusals::any());
  };
  if (core::SignalScope::is_inside()) return false;  // in a handler: the call up the stack goes on with them
  if (posts_again()) {
    const core::SignalScope scope(protocols().ends);
    protocols().work({.exclusive = false});
    if (NodeRefusals::any()) static_cast<void>(protocols().refused_nodes.retry(false));
  }
  if (auto* const port = dynamic_cast<network::HoldsUnsent*>(port_.get())) port->carry();
  return posts_again();
}

}  // namespace weft::detail
