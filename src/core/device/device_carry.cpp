// Sends what was accepted, for a thread that waits for other ranks and not for this device:
// core/runtime/runtime_carry.cpp.
#include "core/completion/object_end.hpp"
#include "core/device/device_state.hpp"
#include "network/unsent.hpp"

namespace weft::detail {

bool DeviceState::carry() noexcept {
  const auto posts_again = [this] {
    return endpoints_.load(std::memory_order_relaxed) > 0 && (has_refused_work() || NodeRefusals::any());
  };
  if (core::SignalScope::is_inside()) return false;  // in a handler: the call up the stack goes on with them
  if (posts_again()) {
    const core::SignalScope scope(ends_);
    work(false);
    if (NodeRefusals::any()) static_cast<void>(refused_nodes_.retry(false));
  }
  if (auto* const port = dynamic_cast<network::HoldsUnsent*>(port_.get())) port->carry();
  return posts_again();
}

}  // namespace weft::detail
