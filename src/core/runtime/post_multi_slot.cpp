// Fast path of posts larger than a slot, under the conditions of inlined posts: the lane exists, the handle
// is open, and there is room and, where needed, a packet.
#include "core/runtime/device_state.hpp"

namespace weft::detail {

template <class Locking>
bool DeviceState::post_multi_slot_send(std::uint64_t peer_and_device, std::uint64_t tag,
                                       const std::byte* data, std::size_t size,
                                       std::uint64_t trailer) noexcept {
  const auto device = static_cast<std::uint8_t>(peer_and_device >> 32);
  SendLane* const lane = path_.lane(static_cast<int>(peer_and_device), device, column_of_post<Locking>());
  if (lane == nullptr) return false;
  if (multi_slot_.try_write<Locking, true>(*lane, tag, {data, size}, trailer)) [[likely]]
    return true;
  // Perhaps only the lane's share of the credits is used up.
  return send_receive_.refill<Locking>(*lane, static_cast<int>(peer_and_device), device) &&
         post_multi_slot_send<Locking>(peer_and_device, tag, data, size, trailer);
}
template bool DeviceState::post_multi_slot_send<TryLock>(std::uint64_t, std::uint64_t, const std::byte*,
                                                         std::size_t, std::uint64_t) noexcept;
template bool DeviceState::post_multi_slot_send<NoLock>(std::uint64_t, std::uint64_t, const std::byte*,
                                                        std::size_t, std::uint64_t) noexcept;

}  // namespace weft::detail
