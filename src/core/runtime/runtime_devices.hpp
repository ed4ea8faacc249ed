// The devices of a runtime: those that are open, and what closed ones have counted.
//
// Sources: runtime_devices.cpp, runtime_counters.cpp, runtime_carry.cpp.
#pragma once

#include "core/completion/object_end.hpp"
#include "core/diagnosis/pending.hpp"
#include "core/runtime/open_device.hpp"

#include <weft/counters.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

namespace weft::detail {

class RuntimeState;

class RuntimeDevices {
 public:
  RuntimeDevices(RuntimeState& runtime, DeviceFactory make);

  /// Opens the device `index`, or the lowest one that is not open. Throws weft::Error.
  std::shared_ptr<OpenDevice> open(std::int32_t index);
  /// The device of endpoints that name none: device 0, opened at the first call.
  std::shared_ptr<OpenDevice> default_device();
  /// The runtime ends: publishes that, and closes the device that nobody else can.
  void end() noexcept;
  /// A device begins to close; it is closing until forget().
  void begin_to_close() noexcept;
  /// From now on no thread works in the device for objects that are destroyed. The device itself ends its
  /// operations in progress.
  void stop_visits(OpenDevice& device) noexcept;
  void forget(std::uint32_t index) noexcept;

  /// Whether the device is open. Approximate while others open devices. Any thread.
  [[nodiscard]] bool has(std::uint32_t index) noexcept;
  /// Makes a call that waits for other ranks, and sends meanwhile what was accepted.
  void carry_during(const std::function<void()>& call);
  /// The sum of the devices' counters. Any thread, also inside handlers.
  [[nodiscard]] RuntimeCounters counters() noexcept;
  /// Takes the peer and the object's id of an active message that was refused because the peer was not ready;
  /// leaves them as they are where there was none.
  void take_unready(std::int32_t& peer, std::int32_t& id) noexcept;
  /// Waits until threads that are inside of a progress call now have left it.
  void quiesce() noexcept;
  /// Lists operations that have not ended. Returns false, without effect, when a device is being opened.
  bool describe(core::PendingList& list, std::vector<std::string>& notes);
  /// What the program has not destroyed, those that stand on others first; empty: nothing.
  [[nodiscard]] std::string user();

  /// Calls use(device) with a device, which may be closing, or nullptr; it does not end meanwhile. Locks
  /// nothing during the call: handlers come here, and other threads wait for them.
  template <class Use>
  void with_any(const Use& use);
  /// Calls use(device) for the devices that are not closing; they do not end meanwhile. Locks nothing during
  /// the calls, which may signal.
  template <class Use>
  void visit(const Use& use);
  /// Calls use(devices), where those that are not open are null, unless another thread has the lock.
  template <class Use>
  void try_with_all(const Use& use) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) use(std::span<OpenDevice* const>(devices_));
  }
  /// The devices that are not closing. For threads with the lock of core::OperationOwners.
  [[nodiscard]] const std::vector<OpenDevice*>& visited() const noexcept { return visited_; }

 private:
  void publish_closing() noexcept;
  /// Takes a device that has ended its operations from the list.
  OpenDevice& remove(std::uint32_t index) noexcept;

  RuntimeState& runtime_;
  const DeviceFactory make_;
  std::mutex mutex_;  // guards the two members below; taken by set-up only
  std::vector<OpenDevice*> devices_;
  std::uint32_t closing_ = 0;
  std::mutex counting_mutex_;  // guards the two below; no thread waits while it holds this
  std::vector<OpenDevice*> counted_;
  RuntimeCounters of_closed_devices_;
  std::vector<OpenDevice*> visited_;  // changed with the lock of core::OperationOwners as well
  std::mutex default_device_mutex_;   // guards the member below; taken before mutex_
  std::shared_ptr<OpenDevice> default_device_;
};

template <class Use>
void RuntimeDevices::with_any(const Use& use) {
  OpenDevice* any = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(devices_, [](OpenDevice* device) { return device != nullptr; });
    if (found != devices_.end()) any = *found;
    if (any != nullptr) any->attached_threads().attach();  // forget() waits for it
  }
  use(any);
  if (any != nullptr) any->attached_threads().detach();
}

template <class Use>
void RuntimeDevices::visit(const Use& use) {
  std::vector<OpenDevice*> devices;
  {
    const std::shared_lock asking(core::OperationOwners::all().lock().own());
    devices = visited_;
    for (OpenDevice* device : devices) device->attached_threads().attach();
  }
  for (OpenDevice* device : devices) {
    use(*device);
    device->attached_threads().detach();
  }
}

}  // namespace weft::detail
