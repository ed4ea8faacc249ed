// Fast path of posts larger than a slot, under the conditions of inlined posts: the lane exists, and there is
// room and, where needed, a packet.
#pragma once

#include "base/memory/bulk_copy.hpp"
#include "core/backlog/backlog.hpp"
#include "core/packet/packet_pool.hpp"
#include "core/protocol/protocol_select.hpp"
#include "network/multi_slot_lane.hpp"

#include <cstdint>
#include <cstring>

namespace weft::core {

/// What a message is: a send takes a credit of the lane's share, and has a trailer; to an ordered engine also
/// the next number of the lane's stream, in the trailer.
enum class MultiSlotKind : std::uint8_t { active_message, send, ordered_send };

/// Writes messages of several slots, and messages in packets that slots name, into the lanes of a device.
class MultiSlotWriter {
 public:
  MultiSlotWriter(const Backlog& backlog, PacketPool& pool, const Limits& limits) noexcept
      : backlog_(backlog), pool_(pool), limits_(limits) {}

  /// Returns false, without effect, when the fast path does not apply.
  template <class Locking, MultiSlotKind kKind>
  [[gnu::always_inline]] bool try_write(detail::SendLane& lane, std::uint64_t word, Bytes payload,
                                        std::uint64_t trailer) noexcept {
    if (!backlog_.empty()) [[unlikely]]  // queued posts may wait for the room that this message would take
      return false;
    if (payload.size() + kTrailer<kKind> <= limits_.inline_bytes) [[likely]]
      return post_in<Locking, kKind>(
          lane, trailer, [&](std::uint64_t whole) __attribute__((always_inline)) {
            return network::write_multi_slot<kIsSend<kKind>>(lane, word, payload, whole);
          });
    return try_write_packet<Locking, kKind>(lane, word, payload, trailer);
  }

  /// try_write() for short payloads, in lanes that are known to have room: makes no call, so that its caller
  /// saves no registers for it. Returns false, without effect, when it does not apply.
  template <class Locking, MultiSlotKind kKind>
  [[gnu::always_inline]] bool try_write_short(detail::SendLane& lane, std::uint64_t word, Bytes payload,
                                              std::uint64_t trailer) noexcept {
    if (payload.size() >= network::kCalledFrom) return false;
    if (!backlog_.empty() || payload.size() + (kTrailer<kKind>) > limits_.inline_bytes) [[unlikely]]
      return false;
    auto* const hold = detail::enter_decided<Locking>(lane.bias, lane.lock);
    if (hold == nullptr) [[unlikely]]
      return false;
    const bool is_sent = write_as<Locking, kKind, true>(
        lane, trailer, [&](std::uint64_t whole) __attribute__((always_inline)) {
          return network::write_short_multi_slot<kIsSend<kKind>>(lane, word, payload, whole);
        });
    detail::leave<Locking>(hold);
    return is_sent;
  }

 private:
  template <MultiSlotKind kKind>
  static constexpr bool kIsSend = kKind != MultiSlotKind::active_message;
  template <MultiSlotKind kKind>
  static constexpr std::size_t kTrailer = kIsSend<kKind> ? detail::kMatchTrailer : 0;

  /// Writes by write(trailer), in a lane that was entered; a send takes a credit of the lane's share.
  template <class Locking, MultiSlotKind kKind, bool kDecided, class Write>
  [[gnu::always_inline]] static bool write_as(detail::SendLane& lane, std::uint64_t trailer,
                                              const Write& write) noexcept {
    if constexpr (kKind == MultiSlotKind::active_message) {
      return write(trailer);
    } else {
      if (lane.credits == 0) return false;
      bool is_sent = false;
      if constexpr (kKind == MultiSlotKind::ordered_send)
        is_sent = detail::write_in_order<Locking, kDecided>(lane, trailer,
                                                            static_cast<std::uint16_t>(trailer), write);
      else
        is_sent = write(trailer);
      if (is_sent) --lane.credits;
      return is_sent;
    }
  }
  /// write_as() in a lane that it enters.
  template <class Locking, MultiSlotKind kKind, class Write>
  [[gnu::always_inline]] static bool post_in(detail::SendLane& lane, std::uint64_t trailer,
                                             const Write& write) noexcept {
    auto* const hold = detail::enter<Locking>(lane.bias, lane.lock);
    if (hold == nullptr) return false;
    const bool is_sent = write_as<Locking, kKind, false>(lane, trailer, write);
    detail::leave<Locking>(hold);
    return is_sent;
  }
  template <class Locking, MultiSlotKind kKind>
  bool try_write_packet(detail::SendLane& lane, std::uint64_t word, Bytes payload,
                        std::uint64_t trailer) noexcept;

  const Backlog& backlog_;
  PacketPool& pool_;
  const Limits limits_;
};

template <class Locking, MultiSlotKind kKind>
[[gnu::noinline]] bool MultiSlotWriter::try_write_packet(detail::SendLane& lane, std::uint64_t word,
                                                         Bytes payload, std::uint64_t trailer) noexcept {
  if (payload.size() > limits_.packet_bytes) return false;
  constexpr std::uint8_t kChannel = kIsSend<kKind> ? detail::kSendChannel : detail::kActiveMessageChannel;
  // A send is copied out of the reply slot by its receive, as it is out of a packet; an active message that
  // its receiver keeps is held in its packet.
  if (kIsSend<kKind> && lane.reply_slot.load(std::memory_order_relaxed) != nullptr &&
      post_in<Locking, kKind>(lane, trailer, [&](std::uint64_t whole) {
        return network::write_into_reply_slot(lane, word, kChannel, payload, {whole, kTrailer<kKind>});
      }))
    return true;
  const std::size_t size = payload.size() + kTrailer<kKind>;
  Packet packet = pool_.get();
  if (!packet) return false;
  base::copy_bulk(packet.data(), payload.data(), payload.size());
  const bool is_sent = post_in<Locking, kKind>(lane, trailer, [&](std::uint64_t whole) {
    std::memcpy(packet.data() + payload.size(), &whole, kTrailer<kKind>);
    return network::write_packet(lane, word, kChannel, packet.data(), packet.index(), size,
                                 {whole, kTrailer<kKind>});
  });
  if (is_sent) packet.release();
  return is_sent;
}

}  // namespace weft::core
