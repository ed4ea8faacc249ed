#include <weft/device.hpp>

#include "core/runtime/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft {

Device::Device(Runtime& runtime, const DeviceOptions& options)
    : state_(runtime.state().open_device(options.index)) {}
Device::~Device() = default;
Device::Device(Device&&) noexcept = default;

DeviceAttributes Device::attributes() const noexcept { return state_->attributes(); }
RuntimeCounters Device::counters() const noexcept { return state_->counters(); }
std::uint32_t Device::index() const noexcept { return state_->index(); }
Packet Device::get_packet() noexcept { return state_->runtime().pool().get(); }

}  // namespace weft
