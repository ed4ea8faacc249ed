// Posts of sends: checks, refusals, the backlog.
#include "core/protocol/enqueue.hpp"
#include "core/protocol/matched/posts/engine_checks.hpp"
#include "core/protocol/matched/posts/send_posts.hpp"
#include "core/protocol/post_checks.hpp"
#include "core/protocol/submit.hpp"
#include "core/protocol/timed_posts.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace weft::core {

using detail::SendLane;

void SendPosts::check(int peer, const SendOptions& options, const char* operation) {
  check_peer(peer, posts_.context, operation);
  check_class(options.message_class, operation);
  check_engine(engines_, options.engine, options.policy, operation);
  check_end(options, operation);
}

namespace {

/// The column of the lane that sends of this kind use: messages to ordered engines all use one lane.
template <class Locking, bool kInOrder>
[[nodiscard, gnu::always_inline]] inline std::uint32_t column_of_send() noexcept {
  return kInOrder ? detail::DevicePath::kFirstColumn : detail::column_of_post<Locking>();
}

template <bool kInOrder>
constexpr MultiSlotKind kKind = kInOrder ? MultiSlotKind::ordered_send : MultiSlotKind::send;

}  // namespace

template <class Locking>
bool SendPosts::post_with_new_credits(int peer, std::uint64_t tag, Bytes bytes,
                                      const SendOptions& options) noexcept {
  if (bytes.size() > detail::kSlotPayload - detail::kMatchTrailer || options.policy == MatchingPolicy::user ||
      options.message_class != MessageClass::normal || options.timeout.count() != 0 || options.synchronous ||
      !options.region.is_empty() || SignalScope::is_inside() || !posts_.backlog.empty())
    return false;
  const bool is_ordered = options.engine >= kMatchingEngines;
  if (is_ordered && (options.policy != MatchingPolicy::rank_and_tag || tag == any_tag)) return false;
  const std::uint32_t column =
      is_ordered ? column_of_send<Locking, true>() : column_of_send<Locking, false>();
  SendLane* const lane = posts_.path.lane(peer, options.device, column);
  if (lane == nullptr || !sender_.credits().refill<Locking>(*lane, peer, options.device, column))
    return false;
  const std::uint64_t trailer =
      detail::match_trailer(options.engine, static_cast<std::uint8_t>(options.policy),
                            static_cast<std::uint8_t>(posts_.context.device));
  return is_ordered ? detail::post_ordered_slot<Locking>(*lane, tag, bytes, trailer, options.engine)
                    : detail::try_post_matched_slot<Locking>(*lane, tag, bytes, trailer);
}
template bool SendPosts::post_with_new_credits<detail::TryLock>(int, std::uint64_t, Bytes,
                                                                const SendOptions&) noexcept;
template bool SendPosts::post_with_new_credits<detail::NoLock>(int, std::uint64_t, Bytes,
                                                               const SendOptions&) noexcept;

template <class Locking, bool kInOrder>
bool SendPosts::try_post_multi_slot(std::uint64_t peer_and_device, std::uint64_t tag, const std::byte* data,
                                    std::size_t size, std::uint64_t trailer) noexcept {
  if (size < network::kCalledFrom) [[likely]] {
    SendLane* const lane =
        posts_.path.lane(static_cast<int>(peer_and_device), static_cast<std::uint8_t>(peer_and_device >> 32),
                         column_of_send<Locking, kInOrder>());
    if (lane != nullptr &&
        multi_slot_.try_write_short<Locking, kKind<kInOrder>>(*lane, tag, {data, size}, trailer)) [[likely]]
      return true;
  }
  return try_post_multi_slot_slow<Locking, kInOrder>(peer_and_device, tag, data, size, trailer);
}

/// Out of line, so that try_post_multi_slot() saves no registers for it. Credits are looked for first, so
/// that no payload is copied in vain, and nothing is to be kept for afterwards.
template <class Locking, bool kInOrder>
[[gnu::noinline]] bool SendPosts::try_post_multi_slot_slow(std::uint64_t peer_and_device, std::uint64_t tag,
                                                           const std::byte* data, std::size_t size,
                                                           std::uint64_t trailer) noexcept {
  if (size > kLargestMessage) [[unlikely]]  // with the trailer, a length of -1 would be a short one
    return false;
  const auto device = static_cast<std::uint8_t>(peer_and_device >> 32);
  SendLane* const lane =
      posts_.path.lane(static_cast<int>(peer_and_device), device, column_of_send<Locking, kInOrder>());
  if (lane == nullptr) return false;
  if (LaneCredits::unused(*lane) == 0) [[unlikely]]
    return refill_and_post<Locking, kInOrder>(peer_and_device, tag, data, size, trailer);
  return multi_slot_.try_write<Locking, kKind<kInOrder>>(*lane, tag, {data, size}, trailer);
}
template <class Locking, bool kInOrder>
[[gnu::noinline]] bool SendPosts::refill_and_post(std::uint64_t peer_and_device, std::uint64_t tag,
                                                  const std::byte* data, std::size_t size,
                                                  std::uint64_t trailer) noexcept {
  const auto peer = static_cast<int>(peer_and_device);
  const auto device = static_cast<std::uint8_t>(peer_and_device >> 32);
  const std::uint32_t column = column_of_send<Locking, kInOrder>();
  return posts_.backlog.empty() &&
         sender_.credits().refill<Locking>(*posts_.path.lane(peer, device, column), peer, device, column) &&
         try_post_multi_slot_slow<Locking, kInOrder>(peer_and_device, tag, data, size, trailer);
}
template bool SendPosts::try_post_multi_slot<detail::TryLock, false>(std::uint64_t, std::uint64_t,
                                                                     const std::byte*, std::size_t,
                                                                     std::uint64_t) noexcept;
template bool SendPosts::try_post_multi_slot<detail::NoLock, false>(std::uint64_t, std::uint64_t,
                                                                    const std::byte*, std::size_t,
                                                                    std::uint64_t) noexcept;
template bool SendPosts::try_post_multi_slot<detail::TryLock, true>(std::uint64_t, std::uint64_t,
                                                                    const std::byte*, std::size_t,
                                                                    std::uint64_t) noexcept;
template bool SendPosts::try_post_multi_slot<detail::NoLock, true>(std::uint64_t, std::uint64_t,
                                                                   const std::byte*, std::size_t,
                                                                   std::uint64_t) noexcept;

Status SendPosts::post(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options, Caller caller) {
  check_region(options.region, bytes, posts_.context, "post_send");
  if (options.engine < kMatchingEngines) return post_unordered(peer, tag, {bytes}, nullptr, options, caller);
  const Status status = post_ordered(peer, tag, {bytes}, nullptr, options, caller);
  if (status.is_accepted()) remember_stream(peer, options, caller);
  return status;
}

Status SendPosts::post(int peer, std::uint64_t tag, std::span<const Bytes> parts, const SendOptions& options,
                       Caller caller) {
  return post_payload(peer, tag, {{}, parts, size_of(parts, "post_send")}, nullptr, options, caller);
}

Status SendPosts::post_packet(int peer, std::uint64_t tag, Packet& packet, std::size_t size,
                              const SendOptions& options, Caller caller) {
  check_peer(peer, posts_.context, "post_send");
  check_packet(packet, size, "post_send");
  return post_payload(peer, tag, {{packet.data(), size}}, &packet, options, caller);
}

Status SendPosts::post_payload(int peer, std::uint64_t tag, const SendPayload& payload, Packet* packet,
                               const SendOptions& options, Caller caller) {
  return options.engine < kMatchingEngines ? post_unordered(peer, tag, payload, packet, options, caller)
                                           : post_ordered(peer, tag, payload, packet, options, caller);
}

/// Out of line, so that posts without a timeout and a handle have no stack for it: handlers that post nest.
[[gnu::noinline]] Status SendPosts::post_within(int peer, std::uint64_t tag, const SendPayload& payload,
                                                Packet* packet, const SendOptions& options, Caller caller) {
  return posts_.timed.post(
      "post_send", unposted_send(peer, tag, payload, packet), options,
      [&](const SendOptions& within) { return post_payload(peer, tag, payload, packet, within, caller); });
}

Status SendPosts::post_unordered(int peer, std::uint64_t tag, const SendPayload& payload, Packet* packet,
                                 const SendOptions& options, Caller caller) {
  check_peer(peer, posts_.context, "post_send");
  check_class(options.message_class, "post_send");
  const MatchingEngine& engine = check_engine(engines_, options.engine, options.policy, "post_send");
  check_end(options, "post_send");
  if (options.timeout.count() != 0 || options.handle != nullptr) [[unlikely]]
    return post_within(peer, tag, payload, packet, options, caller);
  if (options.policy == MatchingPolicy::user) [[unlikely]]
    tag = engine.keys().of_user(posts_.context.rank, tag);
  return submit(
      posts_,
      {Operation::send, peer, tag, payload.size(), posts_.backlog.waits_for_room(peer, options.message_class),
       options.may_retry},
      caller,
      [&](Caller by) {
        const Status status = sender_.attempt(peer, tag, payload, options, packet, by);
        if (packet != nullptr && !status.is_retry()) packet->reset();
        return status;
      },
      [&](Status refused) { return enqueue(refused, peer, tag, payload, packet, options); });
}

Status SendPosts::enqueue(Status refused, int peer, std::uint64_t tag, const SendPayload& payload,
                          Packet* packet, const SendOptions& options) noexcept {
  const Context& context = posts_.context;
  PendingSend pending{tag, options};
  Bytes bytes = payload.bytes;
  Packet gathered;
  std::unique_ptr<std::byte[]> gathered_long;
  if (!payload.parts.empty() && options.completion != nullptr) {
    pending.parts.reset(new (std::nothrow) Bytes[payload.parts.size()]);
    if (pending.parts == nullptr) return refused;
    std::copy(payload.parts.begin(), payload.parts.end(), pending.parts.get());
    pending.parts_count = payload.parts.size();
    bytes = {static_cast<const std::byte*>(nullptr), payload.parts_size};
  } else if (!payload.parts.empty()) {
    // Without a completion object the poster does not learn when its buffers are free: they move into a
    // packet, or, where the backlog grows, into memory of its own; else the post fails.
    if (payload.parts_size <= context.limits.packet_bytes)
      gathered = context.pool.get_for(options.message_class);
    if (!gathered && posts_.backlog.grows())
      gathered_long.reset(new (std::nothrow) std::byte[payload.parts_size]);
    if (!gathered && gathered_long == nullptr) return refused;
    std::byte* const to = gathered ? gathered.data() : gathered_long.get();
    payload.copy_to(to);
    bytes = {to, payload.parts_size};
    if (gathered) packet = &gathered;
  }
  const bool is_borrowed = options.completion != nullptr || gathered_long != nullptr;
  PendingPost* post = take_pending(posts_, peer, options.message_class, bytes, packet, is_borrowed, refused);
  if (post == nullptr) return refused;
  if (gathered_long != nullptr) post->long_copy = std::move(gathered_long);
  post->operation = Operation::send;
  post->other = std::move(pending);
  if (options.engine >= kMatchingEngines) {
    post->in_order = true;
    stream_of(*post).kept.fetch_add(1, std::memory_order_relaxed);
  }
  posts_.backlog.add(*post);
  return Status::posted();
}

Status SendPosts::post_again(PendingPost& post, Caller caller) noexcept {
  auto& send = std::get<PendingSend>(post.other);
  send.options.may_complete_now = false;  // the poster was told that it was posted
  const SendPayload payload = send.parts != nullptr
                                  ? SendPayload{{}, {send.parts.get(), send.parts_count}, post.size}
                                  : SendPayload{{post.packet ? post.packet.data() : post.data, post.size}};
  Packet* const packet = post.packet ? &post.packet : nullptr;
  const Status status = send.options.engine < kMatchingEngines
                            ? sender_.attempt(post.peer, send.tag, payload, send.options, packet, caller)
                            : sender_.attempt_ordered(*engines_.find(send.options.engine), post.peer,
                                                      send.tag, payload, send.options, packet, caller);
  if (!status.is_retry()) send.parts.reset();
  return status;
}

}  // namespace weft::core
