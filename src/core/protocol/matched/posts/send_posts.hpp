// Posts of sends.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/protocol/matched/matched_sender.hpp"
#include "core/protocol/matched/send_payload.hpp"
#include "core/protocol/multi_slot.hpp"
#include "core/protocol/post_context.hpp"

#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/status.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::core {

class SendPosts {
 public:
  SendPosts(const PostContext& posts, MatchingEngines& engines, MatchedSender& sender) noexcept
      : posts_(posts),
        engines_(engines),
        sender_(sender),
        multi_slot_(posts.backlog, posts.context.pool, posts.context.lane_limits) {}

  // Posts throw weft::Error for invalid arguments. A refused post is queued in the backlog when its options
  // ask for that, or when a handler posts.

  /// Makes once the checks of a persistent send.
  void check(int peer, const SendOptions& options, const char* operation);
  Status post(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options, Caller caller);
  Status post(int peer, std::uint64_t tag, std::span<const Bytes> parts, const SendOptions& options,
              Caller caller);
  /// Posts the first `size` bytes of the packet, which is taken over unless the status is retry.
  Status post_packet(int peer, std::uint64_t tag, Packet& packet, std::size_t size,
                     const SendOptions& options, Caller caller);

  // Fast paths. They return false, without effect, when they do not apply; the caller then falls back to
  // post().

  /// Continues an inlined post whose lane has used up its share of the credits: takes another share, and
  /// posts again. Does not apply when that is not the reason, or when queued posts wait for the credits that
  /// the peer returns.
  template <class Locking>
  bool post_with_new_credits(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options) noexcept;
  /// For payloads larger than a slot and up to a packet. kInOrder: to an ordered engine.
  template <class Locking, bool kInOrder>
  bool try_post_multi_slot(std::uint64_t peer_and_device, std::uint64_t tag, const std::byte* data,
                           std::size_t size, std::uint64_t trailer) noexcept;

  /// Posts a send from the backlog again.
  Status post_again(PendingPost& post, Caller caller) noexcept;
  /// A send is taken out of the backlog without having been posted.
  void leave_backlog(const PendingPost& post) noexcept;

 private:
  template <class Locking, bool kInOrder>
  bool try_post_multi_slot_slow(std::uint64_t peer_and_device, std::uint64_t tag, const std::byte* data,
                                std::size_t size, std::uint64_t trailer) noexcept;
  template <class Locking, bool kInOrder>
  bool refill_and_post(std::uint64_t peer_and_device, std::uint64_t tag, const std::byte* data,
                       std::size_t size, std::uint64_t trailer) noexcept;
  /// `packet`, unless null, holds the payload already, and is taken over unless the status is retry.
  Status post_payload(int peer, std::uint64_t tag, const SendPayload& payload, Packet* packet,
                      const SendOptions& options, Caller caller);
  /// post_payload() with a timeout or a handle, after the checks.
  Status post_within(int peer, std::uint64_t tag, const SendPayload& payload, Packet* packet,
                     const SendOptions& options, Caller caller);
  Status post_unordered(int peer, std::uint64_t tag, const SendPayload& payload, Packet* packet,
                        const SendOptions& options, Caller caller);
  Status post_ordered(int peer, std::uint64_t tag, const SendPayload& payload, Packet* packet,
                      const SendOptions& options, Caller caller);
  Status enqueue(Status refused, int peer, std::uint64_t tag, const SendPayload& payload, Packet* packet,
                 const SendOptions& options) noexcept;
  void remember_stream(int peer, const SendOptions& options, Caller caller) noexcept;
  [[nodiscard]] SendSequence& stream_of(const PendingPost& post) noexcept;

  const PostContext posts_;
  MatchingEngines& engines_;
  MatchedSender& sender_;
  MultiSlotWriter multi_slot_;
};

}  // namespace weft::core
