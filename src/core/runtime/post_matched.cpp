// Sends and receives: checks, refusals, the backlog, and the calls that wait.
#include "core/deadline/timed_posts.hpp"
#include "core/deadline/timeout.hpp"
#include "core/protocol/enqueue.hpp"
#include "core/protocol/post_checks.hpp"
#include "core/protocol/submit.hpp"
#include "core/runtime/device_state.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/wait/one_message.hpp"
#include "core/wait/until_accepted.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace weft::detail {

core::MatchingEngine& DeviceState::check_engine(std::uint32_t id, MatchingPolicy policy,
                                                const char* operation) {
  core::MatchingEngine* engine = runtime_.matching_engines().find(id);
  if (engine == nullptr) [[unlikely]]
    throw Error(std::string(operation) + ": matching engine " + std::to_string(id) +
                " is out of range: 0 to " + std::to_string(kEngineIds - 1));
  if (policy == MatchingPolicy::user && !engine->has_key_function()) [[unlikely]]
    throw Error(std::string(operation) + ": matching engine " + std::to_string(id) +
                " was not opened with a make_key, which MatchingPolicy::user needs");
  return *engine;
}

void DeviceState::check_source(int source, MatchingPolicy policy, const char* operation) const {
  if (runtime_.reachable() == 0) [[unlikely]]
    base::refuse_in_forked_copy(operation);
  if (policy == MatchingPolicy::tag_only || policy == MatchingPolicy::any) return;
  if (source < 0 || source >= runtime_.size()) [[unlikely]]
    throw Error(std::string(operation) + ": source " + std::to_string(source) +
                " is not a rank of this job (0 to " + std::to_string(runtime_.size() - 1) + ")" +
                (source == any_source ? "; any_source needs an ordered matching engine" : ""));
}

/// Continues an inlined post whose lane has used up its share of the credits: takes another share, and posts
/// again. Returns false, without effect, when that is not the reason, or when queued posts wait for the
/// credits that the peer returns.
template <class Locking>
bool DeviceState::post_with_new_credits(int peer, std::uint64_t tag, Bytes bytes,
                                        const SendOptions& options) noexcept {
  if (bytes.size() > kSlotPayload - kMatchTrailer || options.policy == MatchingPolicy::user ||
      options.message_class != MessageClass::normal || options.timeout.count() != 0 || in_handler() ||
      !backlog_.empty())
    return false;
  SendLane* const lane = path_.lane(peer, options.device, column_of_post<Locking>());
  if (lane == nullptr || !send_receive_.refill<Locking>(*lane, peer, options.device)) return false;
  return try_post_matched_slot<Locking>(
      *lane, tag, bytes,
      match_trailer(options.engine, static_cast<std::uint8_t>(options.policy),
                    static_cast<std::uint8_t>(index_)));
}
template bool DeviceState::post_with_new_credits<TryLock>(int, std::uint64_t, Bytes,
                                                          const SendOptions&) noexcept;
template bool DeviceState::post_with_new_credits<NoLock>(int, std::uint64_t, Bytes,
                                                         const SendOptions&) noexcept;

Status DeviceState::post_send(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options,
                              bool exclusive) {
  return post_payload(peer, tag, {bytes}, nullptr, options, exclusive);
}

/// `packet`, unless null, holds the payload already, and is taken over unless the status is retry.
Status DeviceState::post_payload(int peer, std::uint64_t tag, const core::SendPayload& payload,
                                 Packet* packet, const SendOptions& options, bool exclusive) {
  if (options.engine >= kMatchingEngines) [[unlikely]]
    return post_ordered_send_slow(peer, tag, payload, packet, options, exclusive);
  core::check_peer(peer, context_, "post_send");
  core::check_class(options.message_class, "post_send");
  const core::MatchingEngine& engine = check_engine(options.engine, options.policy, "post_send");
  if (options.timeout.count() != 0) [[unlikely]]
    return timed_posts_.post("post_send", core::unposted_send(peer, tag, payload, packet), options,
                             [&](const SendOptions& within) {
                               return post_payload(peer, tag, payload, packet, within, exclusive);
                             });
  if (options.policy == MatchingPolicy::user) [[unlikely]]
    tag = engine.user_key(runtime_.rank(), tag);
  return core::submit(
      posts_,
      {Operation::send, peer, tag, payload.size(), backlog_.waits_for_room(peer, options.message_class),
       options.may_retry},
      [&] {
        const Status status =
            send_receive_.attempt_send(peer, tag, payload, options, packet, !backlog_.empty(), exclusive);
        if (packet != nullptr && !status.is_retry()) packet->reset();
        return status;
      },
      [&](Status refused) { return keep_send(refused, peer, tag, payload, packet, options); });
}

Status DeviceState::post_send_packet(int peer, std::uint64_t tag, Packet& packet, std::size_t size,
                                     const SendOptions& options, bool exclusive) {
  core::check_peer(peer, context_, "post_send");
  core::check_packet(packet, size, "post_send");
  return post_payload(peer, tag, {{packet.data(), size}}, &packet, options, exclusive);
}

Status DeviceState::keep_send(Status refused, int peer, std::uint64_t tag, const core::SendPayload& payload,
                              Packet* packet, const SendOptions& options) noexcept {
  core::PendingSend pending{tag, options};
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
    if (payload.parts_size <= context_.limits.packet_bytes)
      gathered = context_.pool.get_for(options.message_class);
    if (!gathered && backlog_.grows()) gathered_long.reset(new (std::nothrow) std::byte[payload.parts_size]);
    if (!gathered && gathered_long == nullptr) return refused;
    std::byte* const to = gathered ? gathered.data() : gathered_long.get();
    payload.copy_to(to);
    bytes = {to, payload.parts_size};
    if (gathered) packet = &gathered;
  }
  const bool is_borrowed = options.completion != nullptr || gathered_long != nullptr;
  core::PendingPost* post =
      core::take_pending(posts_, peer, options.message_class, bytes, packet, is_borrowed, refused);
  if (post == nullptr) return refused;
  if (gathered_long != nullptr) post->long_copy = std::move(gathered_long);
  post->operation = Operation::send;
  post->other = std::move(pending);
  if (options.engine >= kMatchingEngines) {
    post->in_order = true;
    runtime_.matching_engines()
        .find(options.engine)
        ->order()
        ->sends(peer, static_cast<std::uint8_t>(index_))
        .kept.fetch_add(1, std::memory_order_relaxed);
  }
  backlog_.add(*post);
  return Status::posted();
}

void DeviceState::check_send(int peer, const SendOptions& options, const char* operation) {
  core::check_peer(peer, context_, operation);
  core::check_class(options.message_class, operation);
  check_engine(options.engine, options.policy, operation);
}

core::MatchingEngine& DeviceState::check_receive(int source, const ReceiveOptions& options,
                                                 const char* operation) {
  check_source(source, options.policy, operation);
  if (options.completion == nullptr)
    throw Error(std::string(operation) +
                ": a completion object is needed, or nobody would learn that the message has come");
  return check_engine(options.engine, options.policy, operation);
}

/// `user_data`: one or none, so that the arguments of most receives travel in registers.
template <class Locking, class... UserData>
bool DeviceState::try_post_receive(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data,
                                   std::size_t size, Completion* completion, UserData... user_data) noexcept {
  RuntimeState& runtime = runtime_;  // read once
  const auto id = static_cast<std::uint8_t>(engine_and_source >> 32);
  static_assert(kMatchingEngines == 256);
  core::MatchingEngine* const engine = runtime.matching_engines().place(id).load(std::memory_order_acquire);
  const auto source = static_cast<std::uint32_t>(engine_and_source);
  if (engine == nullptr || source >= runtime.fast_path_sources()) [[unlikely]]
    return false;
  if (!engine->expects_receives(Locking::kExclusive)) [[unlikely]]
    return try_post_receive_slow<Locking>(engine_and_source, tag, data, size, completion, user_data...);
  return engine->try_post<Locking>({tag, source, 0}, {data, size}, completion, user_data...);
}

/// Slow path of try_post_receive(), where the endpoint does not lock as the engine does, or messages arrive
/// before their receives. Has the same arguments, so that try_post_receive() only jumps.
template <class Locking, class... UserData>
[[gnu::noinline]] bool DeviceState::try_post_receive_slow(std::uint64_t engine_and_source, std::uint64_t tag,
                                                          std::byte* data, std::size_t size,
                                                          Completion* completion,
                                                          UserData... user_data) noexcept {
  using Other = std::conditional_t<Locking::kExclusive, TryLock, NoLock>;
  core::MatchingEngine& engine = *runtime_.matching_engines()
                                      .place(static_cast<std::uint8_t>(engine_and_source >> 32))
                                      .load(std::memory_order_acquire);
  if (engine.is_serial() != Locking::kExclusive)
    return try_post_receive<Other>(engine_and_source, tag, data, size, completion, user_data...);
  const auto source = static_cast<std::uint32_t>(engine_and_source);
  if (engine.expects_unexpected() && (engine_and_source & detail::kMayCompleteNow) == 0) {
    void* given = nullptr;
    ((given = user_data), ...);
    if (send_receive_.try_receive_unexpected<Locking>(engine, tag, source, {data, size}, completion, given))
        [[likely]]
      return true;
  }
  const bool is_posted = engine.try_post<Locking>({tag, source, 0}, {data, size}, completion, user_data...);
  if (is_posted) engine.learn_unexpected(false);
  return is_posted;
}
template bool DeviceState::try_post_receive<TryLock>(std::uint64_t, std::uint64_t, std::byte*, std::size_t,
                                                     Completion*) noexcept;
template bool DeviceState::try_post_receive<NoLock>(std::uint64_t, std::uint64_t, std::byte*, std::size_t,
                                                    Completion*) noexcept;
template bool DeviceState::try_post_receive<TryLock>(std::uint64_t, std::uint64_t, std::byte*, std::size_t,
                                                     Completion*, void*) noexcept;
template bool DeviceState::try_post_receive<NoLock>(std::uint64_t, std::uint64_t, std::byte*, std::size_t,
                                                    Completion*, void*) noexcept;

Status DeviceState::post_receive(int source, std::uint64_t tag, std::span<std::byte> buffer,
                                 const ReceiveOptions& options) {
  if (options.engine >= kMatchingEngines) return post_ordered_receive(source, tag, buffer, options);
  core::MatchingEngine* engine = runtime_.matching_engines().find_made(options.engine);
  const core::MatchKey key{tag, static_cast<std::uint32_t>(source), 0};
  if (engine != nullptr && options.completion != nullptr && options.policy == MatchingPolicy::rank_and_tag &&
      key.source < runtime_.fast_path_sources() &&
      (engine->is_serial() ? engine->try_post<NoLock>(key, buffer, options)
                           : engine->try_post<TryLock>(key, buffer, options))) [[likely]]
    return Status::posted();
  return post_receive_slow(source, tag, buffer, options);
}

Status DeviceState::post_receive_within(int source, std::uint64_t tag, std::span<std::byte> buffer,
                                        const ReceiveOptions& options) {
  return timed_posts_.post(
      "post_receive", {Operation::receive, source, tag, buffer.data(), 0}, options,
      [&](const ReceiveOptions& within) { return post_receive(source, tag, buffer, within); });
}

/// Out of line, so that post_receive() saves no registers for it.
[[gnu::noinline]] Status DeviceState::post_receive_slow(int source, std::uint64_t tag,
                                                        std::span<std::byte> buffer,
                                                        const ReceiveOptions& options) {
  if (core::MatchingEngine* const made = runtime_.matching_engines().find_made(options.engine);
      made != nullptr && try_receive_unexpected(*made, source, tag, buffer, options))
    return Status::posted();
  core::MatchingEngine& engine = check_receive(source, options, "post_receive");
  if (engine.is_serial()) engine.set_device(index_);
  return core::submit(
      posts_, {Operation::receive, source, tag, buffer.size(), false, options.may_retry},
      [&] { return attempt_receive(engine, source, tag, buffer, options, false); },
      [&](Status) {
        const bool has_source = source >= 0 && source < runtime_.size();
        return keep_receive(has_source ? source : runtime_.rank(), source, tag, buffer, options);
      });
}

/// Fast path of a receive that was not posted at once: its unexpected message is the first in its bucket.
/// Returns false, without effect, when it does not apply. `source` may be any number.
bool DeviceState::try_receive_unexpected(core::MatchingEngine& engine, int source, std::uint64_t tag,
                                         std::span<std::byte> buffer,
                                         const ReceiveOptions& options) noexcept {
  const auto rank = static_cast<std::uint32_t>(source);
  if (options.policy != MatchingPolicy::rank_and_tag || options.completion == nullptr ||
      options.may_complete_now || options.handle != nullptr || options.timeout.count() != 0 ||
      rank >= runtime_.fast_path_sources())
    return false;
  const bool was_there = engine.is_serial()
                             ? send_receive_.try_receive_unexpected<NoLock>(
                                   engine, tag, rank, buffer, options.completion, options.user_data)
                             : send_receive_.try_receive_unexpected<TryLock>(
                                   engine, tag, rank, buffer, options.completion, options.user_data);
  engine.learn_unexpected(was_there);
  return was_there;
}

Status DeviceState::keep_receive(int peer, int source, std::uint64_t tag, std::span<std::byte> buffer,
                                 const ReceiveOptions& options) noexcept {
  core::PendingPost* post = backlog_.take(peer, in_handler());
  if (post == nullptr) return Status::retry(Reason::backlog);
  post->operation = Operation::receive;
  core::PendingReceive pending{source, tag, buffer, options};
  pending.options.arrived = nullptr;
  pending.options.handle = nullptr;
  post->other = pending;
  if (options.engine >= kMatchingEngines) {
    post->in_order = true;
    runtime_.matching_engines()
        .find(options.engine)
        ->order()
        ->queued_receives()
        .fetch_add(1, std::memory_order_relaxed);
  }
  backlog_.add(*post);
  return Status::posted();
}

Status DeviceState::post_again(core::PendingPost& post, bool exclusive) noexcept {
  const core::Caller caller{exclusive, post.from_handler, true, true};
  switch (post.operation) {
    case Operation::send:
    case Operation::receive:
      return post_matched_again(post, exclusive);
    case Operation::put:
    case Operation::get:
    case Operation::atomic:
      return one_sided_.post_again(post, exclusive);
    case Operation::multipart_message:
      return multipart_posts_.post_again(post, caller);
    default:
      return active_messages_.post_again(post, caller);
  }
}

Status DeviceState::post_matched_again(core::PendingPost& post, bool exclusive) noexcept {
  // The poster was told that the receive was posted.
  if (auto* receive = std::get_if<core::PendingReceive>(&post.other)) {
    receive->options.may_complete_now = false;
    if (core::Deadlines::Node* node = deadlines_.node_of(receive->options.completion); node != nullptr)
      receive->options.handle = &node->receive;
    core::MatchingEngine& engine = *runtime_.matching_engines().find(receive->options.engine);
    return attempt_receive(engine, receive->source, receive->tag, receive->buffer, receive->options, true);
  }
  auto& send = std::get<core::PendingSend>(post.other);
  send.options.may_complete_now = false;
  const core::SendPayload payload =
      send.parts != nullptr ? core::SendPayload{{}, {send.parts.get(), send.parts_count}, post.size}
                            : core::SendPayload{{post.packet ? post.packet.data() : post.data, post.size}};
  Packet* const packet = post.packet ? &post.packet : nullptr;
  const Status status =
      send.options.engine < kMatchingEngines
          ? send_receive_.attempt_send(post.peer, send.tag, payload, send.options, packet, true, exclusive)
          : send_receive_.attempt_ordered_send(*runtime_.matching_engines().find(send.options.engine),
                                               post.peer, send.tag, payload, send.options, packet, true,
                                               exclusive, true);
  if (!status.is_retry()) send.parts.reset();
  return status;
}

template <class Post>
Outcome DeviceState::send_patiently(int peer, const SendOptions& options, const std::source_location& where,
                                    bool exclusive, const Post& post) {
  SendOptions patient = options;
  patient.may_retry = true;
  OneMessage sent;
  if (options.completion == nullptr) {
    patient.completion = &sent;
    patient.may_complete_now = true;
  }
  const WaitPlace place{"a send", where, peer};
  const TimeLeft time_left(options.timeout);
  const Status status = until_accepted(
      [&] {
        patient.timeout = time_left.left();
        return post(patient);
      },
      place, exclusive);
  if (options.completion != nullptr || !status.is_posted()) return Outcome::ok;
  wait_for(sent, place, exclusive);
  return sent.take().outcome();
}

Outcome DeviceState::send(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options,
                          const std::source_location& where, bool exclusive) {
  return send_patiently(peer, options, where, exclusive, [&](const SendOptions& patient) {
    return options.engine < kMatchingEngines ? post_send(peer, tag, bytes, patient, exclusive)
                                             : post_ordered_send(peer, tag, bytes, patient, exclusive);
  });
}

Outcome DeviceState::send(int peer, std::uint64_t tag, std::span<const Bytes> parts,
                          const SendOptions& options, const std::source_location& where, bool exclusive) {
  return send_patiently(peer, options, where, exclusive, [&](const SendOptions& patient) {
    return post_send(peer, tag, parts, patient, exclusive);
  });
}

template <class Buffer>
Message DeviceState::receive_patiently(int source, std::uint64_t tag, const Buffer& buffer,
                                       const ReceiveOptions& options, const std::source_location& where,
                                       bool exclusive) {
  OneMessage one;
  Message arrived;
  ReceiveOptions patient = options;
  patient.completion = &one;
  patient.may_retry = true;
  patient.may_complete_now = true;
  patient.arrived = &arrived;
  const WaitPlace place{"a receive", where};
  const TimeLeft time_left(options.timeout);
  const Status status = until_accepted(
      [&] {
        patient.timeout = time_left.left();
        return patient.timeout.count() == 0 ? post_receive(source, tag, buffer, patient)
                                            : post_receive_within(source, tag, buffer, patient);
      },
      place, exclusive);
  if (status.is_done()) return arrived;
  wait_for(one, place, exclusive);
  return one.take();
}

Message DeviceState::receive(int source, std::uint64_t tag, MutableBytes buffer,
                             const ReceiveOptions& options, const std::source_location& where,
                             bool exclusive) {
  return receive_patiently(source, tag, buffer, options, where, exclusive);
}

Message DeviceState::receive(int source, std::uint64_t tag, std::span<const MutableBytes> buffers,
                             const ReceiveOptions& options, const std::source_location& where,
                             bool exclusive) {
  return receive_patiently(source, tag, buffers, options, where, exclusive);
}

}  // namespace weft::detail
