// Fast path of posts larger than a slot, under the conditions of inlined posts: the lane exists, the handle
// is open, and there is room and, where needed, a packet.
#include "base/memory/bulk_copy.hpp"
#include "core/runtime/device_state.hpp"
#include "network/multi_slot_lane.hpp"

#include <cstring>

namespace weft::detail {

namespace {

/// Posts in the lane by write(); a send takes a credit of the lane's share.
template <class Locking, bool kIsSend, class Write>
[[gnu::always_inline]] inline bool post_in(SendLane& lane, const Write& write) noexcept {
  auto* const hold = enter<Locking>(lane.bias, lane.lock);
  if (hold == nullptr) return false;
  const bool is_sent = (!kIsSend || lane.credits != 0) && write();
  if (is_sent && kIsSend) --lane.credits;
  leave<Locking>(hold);
  return is_sent;
}

}  // namespace

template <class Locking, bool kIsSend>
[[gnu::always_inline]] inline bool DeviceState::write_multi_slot_message(SendLane& lane, std::uint64_t word,
                                                                         Bytes payload,
                                                                         std::uint64_t trailer) noexcept {
  if (!backlog_.empty()) [[unlikely]]  // queued posts may wait for the room that this message would take
    return false;
  if (payload.size() + (kIsSend ? kMatchTrailer : 0) <= context_.limits.inline_bytes) [[likely]]
    return post_in<Locking, kIsSend>(
        lane, [&]() __attribute__((always_inline)) {
          return network::write_multi_slot<kIsSend>(lane, word, payload, trailer);
        });
  return write_packet_message<Locking, kIsSend>(lane, word, payload, trailer);
}

template <class Locking, bool kIsSend>
[[gnu::noinline]] bool DeviceState::write_packet_message(SendLane& lane, std::uint64_t word, Bytes payload,
                                                         std::uint64_t trailer) noexcept {
  if (payload.size() > context_.limits.packet_bytes) return false;
  constexpr std::uint8_t kChannel = kIsSend ? kSendChannel : kActiveMessageChannel;
  const network::MultiSlotTrailer behind{trailer, kIsSend ? kMatchTrailer : 0};
  // A send is copied out of the reply slot by its receive, as it is out of a packet; an active message that
  // its receiver keeps is held in its packet.
  if (kIsSend && lane.reply_slot.load(std::memory_order_relaxed) != nullptr &&
      post_in<Locking, kIsSend>(
          lane, [&] { return network::write_into_reply_slot(lane, word, kChannel, payload, behind); }))
    return true;
  const std::size_t size = payload.size() + behind.size;
  Packet packet = context_.pool.get();
  if (!packet) return false;
  base::copy_bulk(packet.data(), payload.data(), payload.size());
  std::memcpy(packet.data() + payload.size(), &trailer, behind.size);
  const bool is_sent = post_in<Locking, kIsSend>(lane, [&] {
    return network::write_packet(lane, word, kChannel, packet.data(), packet.index(), size, behind);
  });
  if (is_sent) packet.release();
  return is_sent;
}

template <class Locking>
bool DeviceState::post_multi_slot_am(int peer, RemoteCompletion remote, const std::byte* data,
                                     std::size_t size, std::uint32_t tag) noexcept {
  if (size <= kSlotPayload) __builtin_unreachable();  // those are posted inlined
  SendLane* const lane = path_.lane(peer, remote.device(), column_of_post<Locking>());
  if (lane == nullptr) return false;
  if (lane->open_handles[remote.id()].load(std::memory_order_relaxed) != open_handle(remote.bits()))
    return false;
  return write_multi_slot_message<Locking, false>(*lane, handle_word(remote, tag), {data, size}, 0);
}
template bool DeviceState::post_multi_slot_am<TryLock>(int, RemoteCompletion, const std::byte*, std::size_t,
                                                       std::uint32_t) noexcept;
template bool DeviceState::post_multi_slot_am<NoLock>(int, RemoteCompletion, const std::byte*, std::size_t,
                                                      std::uint32_t) noexcept;

template <class Locking>
bool DeviceState::post_multi_slot_send(std::uint64_t peer_and_device, std::uint64_t tag,
                                       const std::byte* data, std::size_t size,
                                       std::uint64_t trailer) noexcept {
  const auto device = static_cast<std::uint8_t>(peer_and_device >> 32);
  SendLane* const lane = path_.lane(static_cast<int>(peer_and_device), device, column_of_post<Locking>());
  if (lane == nullptr) return false;
  if (write_multi_slot_message<Locking, true>(*lane, tag, {data, size}, trailer)) [[likely]]
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
