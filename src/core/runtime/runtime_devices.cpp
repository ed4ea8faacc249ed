#include "core/runtime/runtime_devices.hpp"

#include "base/fork_watch.hpp"
#include "core/completion/object_end.hpp"
#include "core/diagnosis/counter_report.hpp"
#include "core/diagnosis/try_for_a_while.hpp"
#include "core/runtime/runtime_state.hpp"

#include <weft/error.hpp>
#include <weft/options.hpp>

#include <algorithm>
#include <utility>

namespace weft::detail {

using base::Attribute;

RuntimeDevices::RuntimeDevices(RuntimeState& runtime, DeviceFactory make)
    : runtime_(runtime),
      make_(std::move(make)),
      devices_(static_cast<std::size_t>(runtime.attributes().integer(Attribute::devices_max))) {}

std::shared_ptr<OpenDevice> RuntimeDevices::open(std::int32_t index) {
  base::refuse_in_forked_copy("Device");
  const std::lock_guard lock(mutex_);
  const auto count = static_cast<std::int32_t>(devices_.size());
  if (index == DeviceOptions::kNextFree)
    for (index = 0; index < count && devices_[static_cast<std::size_t>(index)] != nullptr;) ++index;
  if (index < 0 || index >= count)
    throw Error(ErrorClass::device, "device index " + std::to_string(index) + " is out of range: 0 to " +
                                        std::to_string(count - 1) + " (attribute devices_max)");
  auto& slot = devices_[static_cast<std::size_t>(index)];
  if (slot != nullptr)
    throw Error(ErrorClass::device, "device " + std::to_string(index) + " is open already in this runtime");
  auto device = make_(runtime_, static_cast<std::uint32_t>(index));
  slot = device.get();
  publish_closing();
  const std::lock_guard counting(counting_mutex_);
  const std::lock_guard asking(core::OperationOwners::all().lock());
  counted_.push_back(slot);
  visited_.push_back(slot);
  runtime_.log().info([&] { return "device " + std::to_string(index) + " is open"; });
  return device;
}

std::shared_ptr<OpenDevice> RuntimeDevices::default_device() {
  const std::lock_guard lock(default_device_mutex_);
  if (default_device_ == nullptr) default_device_ = open(0);
  return default_device_;
}

bool RuntimeDevices::has(std::uint32_t index) noexcept {
  const std::lock_guard lock(mutex_);
  return index < devices_.size() && devices_[index] != nullptr;
}

void RuntimeDevices::forget(std::uint32_t index) noexcept {
  OpenDevice& device = remove(index);
  while (device.attached_threads().any()) device.give_way();  // those of quiesce() and with_any()
}

OpenDevice& RuntimeDevices::remove(std::uint32_t index) noexcept {
  const std::lock_guard lock(mutex_);
  const std::lock_guard counting(counting_mutex_);
  RuntimeCounters last = devices_[index]->counters();
  last.lanes = last.backlog_now = last.unexpected_now = 0;
  core::add(of_closed_devices_, last);
  {
    const std::lock_guard asking(core::OperationOwners::all().lock());
    std::erase(counted_, devices_[index]);
  }
  // Another device of its thread may have a serial engine next.
  runtime_.matching_engines().for_each([index](core::MatchingEngine& engine) {
    if (engine.is_serial() && engine.expectation().device() == static_cast<int>(index))
      engine.expectation().forget_device();
  });
  OpenDevice& device = *std::exchange(devices_[index], nullptr);
  --closing_;
  publish_closing();
  return device;
}

void RuntimeDevices::begin_to_close() noexcept {
  const std::lock_guard lock(mutex_);
  ++closing_;
  publish_closing();
}

/// Called under mutex_.
void RuntimeDevices::publish_closing() noexcept {
  using enum network::Network::Closing;
  const auto open = std::count_if(devices_.begin(), devices_.end(),
                                  [](const OpenDevice* device) { return device != nullptr; });
  runtime_.network().publish_closing(runtime_.is_ending()                                ? runtime
                                     : closing_ != 0 && open == std::ptrdiff_t{closing_} ? devices
                                                                                         : no);
}

// Waits without the lock, and keeps only the device for whose threads it waits: their handlers may open other
// devices, and close them.
void RuntimeDevices::quiesce() noexcept {
  for (std::size_t index = 0; index < devices_.size(); ++index) {
    OpenDevice* device = nullptr;
    {
      const std::lock_guard lock(mutex_);
      device = devices_[index];
      if (device != nullptr) device->attached_threads().attach();
    }
    if (device == nullptr) continue;
    device->quiesce();
    device->attached_threads().detach();
  }
}

void RuntimeDevices::stop_visits(OpenDevice& device) noexcept {
  {
    const std::lock_guard asking(core::OperationOwners::all().lock());
    std::erase(visited_, &device);
  }
  while (device.attached_threads().any()) device.give_way();
}

void RuntimeDevices::end() noexcept {
  {
    const std::lock_guard lock(mutex_);
    publish_closing();
  }
  // Ranks that wait for this one in a collective of the bootstrap learn that it will not come.
  runtime_.bootstrap().begin_to_leave();
  default_device_.reset();
}

bool RuntimeDevices::describe(core::PendingList& list, std::vector<std::string>& notes) {
  if (!core::try_for_a_while([&] { return mutex_.try_lock(); })) return false;
  const std::lock_guard lock(mutex_, std::adopt_lock);
  for (const auto& device : devices_)
    if (device != nullptr) device->describe_refusals(notes);
  for (std::size_t index = 0; index < devices_.size(); ++index)
    if (devices_[index] != nullptr && !devices_[index]->describe(list))
      notes.push_back(
          "device " + std::to_string(index) + " has " + std::to_string(devices_[index]->refused_posts()) +
          " refused operations, which are not shown because a thread stays inside of progress (in "
          "a handler?)");
  // Operations with a timeout name nodes: threads wait for the objects behind them.
  for (const core::Deadlines* deadlines : runtime_.accounts().made_deadlines())
    list.replace_completions([&](const void* completion) -> const void* {
      return deadlines->behind(static_cast<const Completion*>(completion));
    });
  return true;
}

std::string RuntimeDevices::user() {
  const std::lock_guard lock(mutex_);
  for (OpenDevice* device : devices_) {
    if (device == nullptr) continue;
    if (std::string user = device->user(); !user.empty()) return user;
    if (device != default_device_.get()) return "Device (index " + std::to_string(device->index()) + ")";
  }
  return {};
}

}  // namespace weft::detail
