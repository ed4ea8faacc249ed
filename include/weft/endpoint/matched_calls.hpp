// The library's side of sends and receives, which matched.hpp inlines around.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/lock.hpp>
#include <weft/matching.hpp>
#include <weft/message.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>

namespace weft {

namespace detail {

class DeviceState;

/// Peer and device in one argument: the peer's device above bit 32.
[[nodiscard]] constexpr std::uint64_t peer_and_device(int peer, std::uint8_t device) noexcept {
  return static_cast<std::uint64_t>(device) << 32 | static_cast<std::uint32_t>(peer);
}

/// The library's side of sends and receives, by lock policy.
template <class Locking>
struct MatchedCalls {
  WEFT_API static Status post_send(DeviceState& device, int peer, std::uint64_t tag, Bytes bytes,
                                   const SendOptions& options);
  /// Fast path of post_send() for a payload of more than a slot and up to a packet, of the class normal and
  /// to an unordered engine; `trailer` is made by match_trailer(). Returns false, without effect, when the
  /// message cannot be sent at once; the caller then falls back to post_send().
  WEFT_API static bool post_multi_slot_send(DeviceState& device, std::uint64_t peer_and_device,
                                            std::uint64_t tag, const std::byte* data, std::size_t size,
                                            std::uint64_t trailer) noexcept;
  /// post_multi_slot_send() to an ordered engine, for a tag that is not any_tag.
  WEFT_API static bool post_ordered_multi_slot_send(DeviceState& device, std::uint64_t peer_and_device,
                                                    std::uint64_t tag, const std::byte* data,
                                                    std::size_t size, std::uint64_t trailer) noexcept;
  WEFT_API static Status post_send_packet(DeviceState& device, int peer, std::uint64_t tag, Packet& packet,
                                          std::size_t size, const SendOptions& options);
  WEFT_API static Outcome send(DeviceState& device, int peer, std::uint64_t tag, Bytes bytes,
                               const SendOptions& options, const std::source_location& where);
  WEFT_API static Status post_receive(DeviceState& device, int source, std::uint64_t tag,
                                      std::span<std::byte> buffer, const ReceiveOptions& options);
  /// Fast path of a receive by rank and tag on an unordered engine, with a completion object and without a
  /// handle or timeout. `engine_and_source` is kMayCompleteNow, the engine above bit 32 and the source below:
  /// arguments in registers, options never in memory. Returns false, without effect, when the fast path does
  /// not apply; the caller then falls back to post_receive_slow().
  WEFT_API static bool try_post_receive(DeviceState& device, std::uint64_t engine_and_source,
                                        std::uint64_t tag, std::byte* data, std::size_t size,
                                        Completion* completion) noexcept;
  /// try_post_receive() with user data.
  WEFT_API static bool try_post_receive(DeviceState& device, std::uint64_t engine_and_source,
                                        std::uint64_t tag, std::byte* data, std::size_t size,
                                        Completion* completion, void* user_data) noexcept;
  /// Fast path of a receive on an ordered engine, from a rank or any_source, for a tag that is not any_tag,
  /// without and with user data. Returns false, without effect, when the fast path does not apply; the caller
  /// then falls back to post_receive().
  WEFT_API static bool try_post_ordered_receive(DeviceState& device, std::uint64_t engine_and_source,
                                                std::uint64_t tag, std::byte* data, std::size_t size,
                                                Completion* completion) noexcept;
  WEFT_API static bool try_post_ordered_receive(DeviceState& device, std::uint64_t engine_and_source,
                                                std::uint64_t tag, std::byte* data, std::size_t size,
                                                Completion* completion, void* user_data) noexcept;
  /// try_post_ordered_receive() for any tag that fits, which may be any_tag: only the bits of `tag_mask`
  /// count.
  WEFT_API static bool try_post_masked_receive(DeviceState& device, std::uint64_t engine_and_source,
                                               std::uint64_t tag, std::uint64_t tag_mask, std::byte* data,
                                               std::size_t size, Completion* completion,
                                               void* user_data) noexcept;
  WEFT_API static Status post_receive_slow(DeviceState& device, int source, std::uint64_t tag,
                                           std::span<std::byte> buffer, const ReceiveOptions& options);
  /// post_receive() with a timeout.
  WEFT_API static Status post_receive_within(DeviceState& device, int source, std::uint64_t tag,
                                             std::span<std::byte> buffer, const ReceiveOptions& options);
  WEFT_API static Message receive(DeviceState& device, int source, std::uint64_t tag,
                                  std::span<std::byte> buffer, const ReceiveOptions& options,
                                  const std::source_location& where);
  WEFT_API static bool cancel(DeviceState& device, const ReceiveHandle& handle) noexcept;
  WEFT_API static bool cancel(DeviceState& device, const SendHandle& handle) noexcept;
  WEFT_API static bool probe(DeviceState& device, int source, std::uint64_t tag, ProbedMessage& found,
                             const ReceiveOptions& options);
  WEFT_API static MatchedMessage matched_probe(DeviceState& device, int source, std::uint64_t tag,
                                               const ReceiveOptions& options);
  WEFT_API static Outcome wait_probe(DeviceState& device, int source, std::uint64_t tag, ProbedMessage& found,
                                     const ReceiveOptions& options, const std::source_location& where);
  WEFT_API static Outcome wait_matched_probe(DeviceState& device, int source, std::uint64_t tag,
                                             MatchedMessage& found, const ReceiveOptions& options,
                                             const std::source_location& where);
  WEFT_API static Status post_receive_probed(DeviceState& device, MatchedMessage& message,
                                             std::span<std::byte> buffer, const ReceiveOptions& options);
};

/// Throws weft::Error when the engine is not an ordered one.
WEFT_API void require_ordered(std::uint16_t engine, const char* operation);

extern template struct MatchedCalls<TryLock>;
extern template struct MatchedCalls<NoLock>;

}  // namespace detail

}  // namespace weft
