#include <weft/device.hpp>

#include "base/fork_watch.hpp"
#include "core/device/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft {

Device::Device(Runtime& runtime, const DeviceOptions& options)
    : state_(std::static_pointer_cast<detail::DeviceState>(runtime.state().devices().open(options.index))) {}
Device::~Device() {
  if (state_ == nullptr) return;
  // In a forked child the device belongs to the parent, and its threads do not exist here: the state is kept
  // for good.
  if (base::is_forked_copy())
    static_cast<void>(new std::shared_ptr<detail::DeviceState>(std::move(state_)));
  else
    state_->endpoints().refuse_users();
}
Device::Device(Device&&) noexcept = default;

DeviceAttributes Device::attributes() const noexcept { return state_->attributes(); }
RuntimeCounters Device::counters() const noexcept { return state_->counters(); }
std::uint32_t Device::index() const noexcept { return state_->index(); }
bool Device::drained() const noexcept { return state_->drained(); }
Packet Device::get_packet() noexcept { return state_->runtime().pool().get(); }

}  // namespace weft
