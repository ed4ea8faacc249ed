#include <weft/endpoint.hpp>

#include "core/deadline/timeout.hpp"
#include "core/device/blocking.hpp"
#include "core/device/device_state.hpp"
#include "core/protocol/immediate_completion.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft {

namespace detail {

using core::Caller;

template <class Locking>
void EndpointCalls<Locking>::open(DeviceState& device) {
  device.open_endpoint(Locking::kExclusive);
}
template <class Locking>
void EndpointCalls<Locking>::close(DeviceState& device) noexcept {
  device.close_endpoint(Locking::kExclusive);
}
template <class Locking>
Status EndpointCalls<Locking>::post_am(DeviceState& device, int peer, RemoteCompletion remote, Bytes bytes,
                                       const ActiveMessageOptions& options) {
  return device.protocols().active_messages.post(peer, remote, bytes, options,
                                                 Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
bool EndpointCalls<Locking>::post_multi_slot_am(DeviceState& device, int peer, RemoteCompletion remote,
                                                const std::byte* data, std::size_t size,
                                                std::uint32_t tag) noexcept {
  return device.protocols().active_messages.try_post_multi_slot<Locking>(peer, remote, data, size, tag);
}
template <class Locking>
Status EndpointCalls<Locking>::post_packet(DeviceState& device, int peer, RemoteCompletion remote,
                                           Packet& packet, std::size_t size,
                                           const ActiveMessageOptions& options) {
  return device.protocols().active_messages.post_packet(peer, remote, packet, size, options,
                                                        Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
Outcome EndpointCalls<Locking>::send_am(DeviceState& device, int peer, RemoteCompletion remote, Bytes bytes,
                                        const ActiveMessageOptions& options,
                                        const std::source_location& where) {
  return core::send_am(device, peer, remote, bytes, options, where, Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
std::size_t EndpointCalls<Locking>::progress(DeviceState& device) noexcept {
  return device.poll();
}
template <class Locking>
bool EndpointCalls<Locking>::wait(DeviceState& device, const WaitCondition& condition) noexcept {
  return device.waits().wait(condition);
}
template <class Locking>
bool EndpointCalls<Locking>::wait_for(DeviceState& device, const WaitCondition& condition,
                                      Timeout timeout) noexcept {
  WaitCondition limited = condition;
  limited.until = time_after(timeout);
  return device.waits().wait(limited);
}

template struct EndpointCalls<TryLock>;
template struct EndpointCalls<NoLock>;

Status signal_completion(DeviceState& device, Operation operation, int peer, std::uint64_t tag, Bytes bytes,
                         Completion& completion, void* user_data) noexcept {
  return core::signal_completion(device.protocols().context, operation, peer, tag, bytes, completion,
                                 user_data);
}

DevicePath& path_of(DeviceState& device) noexcept { return device.path(); }
DeviceAttributes attributes_of(const DeviceState& device) noexcept { return device.attributes(); }

bool drained(DeviceState& device) noexcept { return device.drained(); }

}  // namespace detail

template <class Locking>
std::shared_ptr<detail::DeviceState> BasicEndpoint<Locking>::default_device(Runtime& runtime) {
  return std::static_pointer_cast<detail::DeviceState>(runtime.state().devices().default_device());
}
template <class Locking>
std::shared_ptr<detail::DeviceState> BasicEndpoint<Locking>::shared_state(Device& device) {
  return {&device.state(), [](detail::DeviceState*) {}};
}

template class BasicEndpoint<detail::TryLock>;
template class BasicEndpoint<detail::NoLock>;

}  // namespace weft
