#include "core/runtime/runtime_state.hpp"

#include "core/runtime/device_state.hpp"

#include <weft/error.hpp>

#include <string>

namespace weft::detail {

using base::Attribute;

RuntimeState::RuntimeState(base::Attributes attributes, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                           const NetworkFactory& make_network)
    : attributes_(std::move(attributes)),
      bootstrap_(std::move(bootstrap)),
      rank_(bootstrap_->rank()),
      size_(bootstrap_->size()),
      log_(static_cast<base::LogLevel>(attributes_.integer(Attribute::log_level)), rank_),
      pool_(static_cast<std::uint32_t>(attributes_.integer(Attribute::packet_magazine))),
      network_(make_network(*bootstrap_, attributes_, pool_)),
      exposures_(*network_, [this] { quiesce(); }),
      devices_(static_cast<std::size_t>(attributes_.integer(Attribute::devices_max))) {
  pool_.attach(*network_);
}

RuntimeState::~RuntimeState() { default_device_.reset(); }

std::shared_ptr<DeviceState> RuntimeState::open_device(std::int32_t index) {
  const std::lock_guard lock(mutex_);
  const auto count = static_cast<std::int32_t>(devices_.size());
  if (index == DeviceOptions::kNextFree)
    for (index = 0; index < count && devices_[static_cast<std::size_t>(index)] != nullptr;) ++index;
  if (index < 0 || index >= count)
    throw Error("device index " + std::to_string(index) + " is out of range: 0 to " +
                std::to_string(count - 1) + " (attribute devices_max)");
  auto& slot = devices_[static_cast<std::size_t>(index)];
  if (slot != nullptr) throw Error("device " + std::to_string(index) + " is open already in this runtime");
  auto device = std::make_shared<DeviceState>(*this, static_cast<std::uint32_t>(index));
  slot = device.get();
  return device;
}

std::shared_ptr<DeviceState> RuntimeState::default_device() {
  const std::lock_guard lock(default_device_mutex_);
  if (default_device_ == nullptr) default_device_ = open_device(0);
  return default_device_;
}

void RuntimeState::forget_device(std::uint32_t index) noexcept {
  const std::lock_guard lock(mutex_);
  devices_[index] = nullptr;
}

void RuntimeState::quiesce() noexcept {
  const std::lock_guard lock(mutex_);
  for (DeviceState* device : devices_)
    if (device != nullptr) device->quiesce();
}

}  // namespace weft::detail
