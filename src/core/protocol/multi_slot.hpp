// Fast path of posts larger than a slot, under the conditions of inlined posts: the lane exists, and there is
// room and, where needed, a packet.
#pragma once

#include "base/memory/bulk_copy.hpp"
#include "core/backlog/backlog.hpp"
#include "core/packet/packet_pool.hpp"
#include "core/protocol/protocol_select.hpp"
#include "network/multi_slot_lane.hpp"

#include <cstring>

namespace weft::core {

/// Writes messages of several slots, and messages in packets that slots name, into the lanes of a device.
class MultiSlotWriter {
 public:
  MultiSlotWriter(const Backlog& backlog, PacketPool& pool, const Limits& limits) noexcept
      : backlog_(backlog), pool_(pool), limits_(limits) {}

  /// Returns false, without effect, when the fast path does not apply.
  template <class Locking, bool kIsSend>
  [[gnu::always_inline]] bool try_write(detail::SendLane& lane, std::uint64_t word, Bytes payload,
                                        std::uint64_t trailer) noexcept {
    if (!backlog_.empty()) [[unlikely]]  // queued posts may wait for the room that this message would take
      return false;
    if (payload.size() + (kIsSend ? detail::kMatchTrailer : 0) <= limits_.inline_bytes) [[likely]]
      return post_in<Locking, kIsSend>(
          lane, [&]() __attribute__((always_inline)) {
            return network::write_multi_slot<kIsSend>(lane, word, payload, trailer);
          });
    return try_write_packet<Locking, kIsSend>(lane, word, payload, trailer);
  }

  /// try_write() for short payloads, in lanes that are known to have room: makes no call, so that its caller
  /// saves no registers for it. Returns false, without effect, when it does not apply.
  template <class Locking, bool kIsSend>
  [[gnu::always_inline]] bool try_write_short(detail::SendLane& lane, std::uint64_t word, Bytes payload,
                                              std::uint64_t trailer) noexcept {
    if (payload.size() >= network::kCalledFrom) return false;
    if (!backlog_.empty() || payload.size() + (kIsSend ? detail::kMatchTrailer : 0) > limits_.inline_bytes)
        [[unlikely]]
      return false;
    auto* const hold = detail::enter_decided<Locking>(lane.bias, lane.lock);
    if (hold == nullptr) [[unlikely]]
      return false;
    const bool is_sent = (!kIsSend || lane.credits != 0) &&
                         network::write_short_multi_slot<kIsSend>(lane, word, payload, trailer);
    if (is_sent && kIsSend) --lane.credits;
    detail::leave<Locking>(hold);
    return is_sent;
  }

 private:
  /// Posts in the lane by write(); a send takes a credit of the lane's share.
  template <class Locking, bool kIsSend, class Write>
  [[gnu::always_inline]] static bool post_in(detail::SendLane& lane, const Write& write) noexcept {
    auto* const hold = detail::enter<Locking>(lane.bias, lane.lock);
    if (hold == nullptr) return false;
    const bool is_sent = (!kIsSend || lane.credits != 0) && write();
    if (is_sent && kIsSend) --lane.credits;
    detail::leave<Locking>(hold);
    return is_sent;
  }
  template <class Locking, bool kIsSend>
  bool try_write_packet(detail::SendLane& lane, std::uint64_t word, Bytes payload,
                        std::uint64_t trailer) noexcept;

  const Backlog& backlog_;
  PacketPool& pool_;
  const Limits limits_;
};

template <class Locking, bool kIsSend>
[[gnu::noinline]] bool MultiSlotWriter::try_write_packet(detail::SendLane& lane, std::uint64_t word,
                                                         Bytes payload, std::uint64_t trailer) noexcept {
  if (payload.size() > limits_.packet_bytes) return false;
  constexpr std::uint8_t kChannel = kIsSend ? detail::kSendChannel : detail::kActiveMessageChannel;
  const network::MultiSlotTrailer behind{trailer, kIsSend ? detail::kMatchTrailer : 0};
  // A send is copied out of the reply slot by its receive, as it is out of a packet; an active message that
  // its receiver keeps is held in its packet.
  if (kIsSend && lane.reply_slot.load(std::memory_order_relaxed) != nullptr &&
      post_in<Locking, kIsSend>(
          lane, [&] { return network::write_into_reply_slot(lane, word, kChannel, payload, behind); }))
    return true;
  const std::size_t size = payload.size() + behind.size;
  Packet packet = pool_.get();
  if (!packet) return false;
  base::copy_bulk(packet.data(), payload.data(), payload.size());
  std::memcpy(packet.data() + payload.size(), &trailer, behind.size);
  const bool is_sent = post_in<Locking, kIsSend>(lane, [&] {
    return network::write_packet(lane, word, kChannel, packet.data(), packet.index(), size, behind);
  });
  if (is_sent) packet.release();
  return is_sent;
}

}  // namespace weft::core
