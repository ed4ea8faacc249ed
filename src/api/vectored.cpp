#include <weft/endpoint.hpp>
#include <weft/error.hpp>

#include "base/refuse.hpp"
#include "core/device/accesses.hpp"
#include "core/device/blocking.hpp"
#include "core/device/device_state.hpp"

#include <string>

namespace weft::detail {

using core::Caller;

template <class Locking>
Status VectoredCalls<Locking>::post_am(DeviceState& device, int peer, RemoteCompletion remote, Bytes head,
                                       std::span<const Bytes> parts, const ActiveMessageOptions& options) {
  return device.protocols().multipart_posts.post(peer, remote, head, parts, options,
                                                 Caller::of_endpoint(Locking::kExclusive));
}

template <class Locking>
Status VectoredCalls<Locking>::post_put(DeviceState& device, int peer, std::span<const PutPiece> pieces,
                                        const AccessOptions& options) {
  return core::post_pieces(device, peer, pieces, options, Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
Status VectoredCalls<Locking>::post_get(DeviceState& device, int peer, std::span<const GetPiece> pieces,
                                        const AccessOptions& options) {
  return core::post_pieces(device, peer, pieces, options, Caller::of_endpoint(Locking::kExclusive));
}

template <class Locking>
Status VectoredCalls<Locking>::post_send(DeviceState& device, int peer, std::uint64_t tag,
                                         std::span<const Bytes> parts, const SendOptions& options) {
  return device.protocols().sends.post(peer, tag, parts, options, Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
Outcome VectoredCalls<Locking>::send(DeviceState& device, int peer, std::uint64_t tag,
                                     std::span<const Bytes> parts, const SendOptions& options,
                                     const std::source_location& where) {
  return core::send(device, peer, tag, parts, options, where, Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
Status VectoredCalls<Locking>::post_receive(DeviceState& device, int source, std::uint64_t tag,
                                            std::span<const MutableBytes> buffers,
                                            const ReceiveOptions& options) {
  return device.protocols().receives.post_parts(source, tag, buffers, options);
}
template <class Locking>
Message VectoredCalls<Locking>::receive(DeviceState& device, int source, std::uint64_t tag,
                                        std::span<const MutableBytes> buffers, const ReceiveOptions& options,
                                        const std::source_location& where) {
  return core::receive(device, source, tag, buffers, options, where);
}

template struct VectoredCalls<TryLock>;
template struct VectoredCalls<NoLock>;

void receive_parts(Message& message, std::span<const MutableBytes> buffers, Completion& completion,
                   void* user_data) {
  if (!core::MultipartMessages::has_parts(message))
    base::refuse(ErrorClass::state, "receive_parts",
                 "the message has no parts that could be received: its operation is not "
                 "multipart_message, or it was moved from");
  if (buffers.size() != message.part_sizes().size())
    base::refuse(ErrorClass::length, "receive_parts",
                 std::to_string(buffers.size()) + " buffers for a message with " +
                     std::to_string(message.part_sizes().size()) + " parts: each needs one, be it empty");
  if (!core::MultipartMessages::receive(message, buffers, completion, user_data))
    base::refuse(ErrorClass::state, "receive_parts", "the device that the message has come to is closed");
}

}  // namespace weft::detail
