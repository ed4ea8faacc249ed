#include <weft/detail/endpoint_entry.hpp>

#include "base/end_program.hpp"
#include "concurrent/thread_name.hpp"
#include "core/device/device_state.hpp"

#include <weft/detail/bias.hpp>

#include <string>

namespace weft::detail {

SerialEntry::SerialEntry(DeviceState& device, const char* call) noexcept : device_(&device) {
  DeviceEndpoints::SerialUser& user = device.endpoints().serial_user();
  const std::uintptr_t me = ProcessThreads::mark();
  std::uintptr_t inside = 0;
  // Pairs with the release in the destructor: the endpoint may pass from thread to thread.
  if (user.thread.compare_exchange_strong(inside, me, std::memory_order_acquire)) {
    user.call.store(call, std::memory_order_relaxed);
    return;
  }
  device_ = nullptr;
  if (inside == me) return;
  const char* const other = user.call.load(std::memory_order_relaxed);
  base::end_program(
      device.endpoints().name("SerialEndpoint") + ": thread " + concurrent::name_of_thread(me) + " calls " +
      call + " while thread " + concurrent::name_of_thread(inside) + " is inside " +
      (other != nullptr ? other : "a call") +
      ": one thread at a time uses a SerialEndpoint; give each thread a device of its own, or use "
      "an Endpoint");
}

SerialEntry::~SerialEntry() {
  if (device_ == nullptr) return;
  DeviceEndpoints::SerialUser& user = device_->endpoints().serial_user();
  user.call.store(nullptr, std::memory_order_relaxed);
  user.thread.store(0, std::memory_order_release);
}

}  // namespace weft::detail
