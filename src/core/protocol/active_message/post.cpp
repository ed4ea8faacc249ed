// Posts of active messages that are not inlined: protocols other than one slot, refusals, the backlog.
#include "base/memory/bulk_copy.hpp"
#include "core/completion/signal_end.hpp"
#include "core/protocol/active_message/active_messages.hpp"
#include "core/protocol/enqueue.hpp"
#include "core/protocol/message_class.hpp"
#include "core/protocol/post_checks.hpp"
#include "core/protocol/submit.hpp"
#include "core/protocol/timed_posts.hpp"
#include "core/protocol/to_status.hpp"

namespace weft::core {

using network::Outgoing;
using network::SendResult;
using network::TrafficClass;

namespace {

Outgoing active_message(int peer, RemoteCompletion remote, const ActiveMessageOptions& options,
                        bool reserves_room) noexcept {
  Outgoing outgoing{};
  outgoing.peer = peer;
  outgoing.device = remote.device();
  outgoing.traffic = traffic_of(options.message_class);
  outgoing.channel = static_cast<std::uint8_t>(Channel::active_message);
  outgoing.to_handle = true;
  outgoing.word = detail::handle_word(remote, options.tag);
  outgoing.reserves_room = reserves_room;
  return outgoing;
}

/// Sends on the lane of the message's class or, when that is full and a handler has posted, on the control
/// lane. Requests on a data lane may have to wait because what their handlers post finds no room; answers are
/// always accepted. So two ranks that flood each other with requests never wait for each other's answers.
template <class Send>
SendResult send_or_answer(Outgoing outgoing, Caller caller, const Send& send) noexcept {
  const SendResult result = send(outgoing);
  if (result != SendResult::no_slot || !caller.from_handler) return result;
  outgoing.traffic = TrafficClass::control;
  outgoing.channel = static_cast<std::uint8_t>(Channel::answer);
  outgoing.reserves_room = false;
  return send(outgoing);
}

}  // namespace

ActiveMessages::ActiveMessages(const PostContext& posts, Rendezvous& rendezvous) noexcept
    : posts_(posts),
      rendezvous_(rendezvous),
      exposures_(posts.context.exposures),
      device_(posts.context.device),
      multi_slot_(posts.backlog, posts.context.pool, posts.context.lane_limits) {}

Status ActiveMessages::end_post(bool is_lost, int peer, const std::byte* data, std::size_t size,
                                const ActiveMessageOptions& options) noexcept {
  const Context& context = posts_.context;
  if (is_lost) [[unlikely]] {
    context.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
    context.lose(peer, "active message");
  }
  if (options.completion == nullptr || (options.may_complete_now && !is_lost)) return Status::done();
  return signal_end(context.ends, Operation::active_message_sent, peer, options.tag, {data, size},
                    *options.completion, options.user_data, is_lost ? Outcome::peer_failed : Outcome::ok,
                    context.device);
}

Status ActiveMessages::attempt(int peer, RemoteCompletion remote, Bytes bytes,
                               const ActiveMessageOptions& options, Caller caller) noexcept {
  const Context& context = posts_.context;
  switch (select(bytes.size(), context.limits_to(peer))) {
    case Protocol::inject: {
      const SendResult result = send_or_answer(
          active_message(peer, remote, options, caller.reserves_room), caller,
          [&](const Outgoing& outgoing) { return context.port->send(outgoing, bytes, caller); });
      const Status status = to_status(result);
      return status.is_retry()
                 ? status
                 : end_post(result == SendResult::peer_left, peer, bytes.data(), bytes.size(), options);
    }
    case Protocol::eager: {
      Packet packet = context.pool.get_for(options.message_class);
      if (!packet) return Status::retry(Reason::no_packet);
      base::copy_bulk(packet.data(), bytes.data(), bytes.size());
      return attempt_packet(peer, remote, packet, bytes.size(), bytes.data(), options, caller);
    }
    case Protocol::rendezvous:
      break;
  }
  SendResult result = SendResult::sent;
  const Rendezvous::Outbound outbound{peer,
                                      remote.device(),
                                      Channel::rts,
                                      detail::handle_word(remote, options.tag),
                                      nullptr,
                                      bytes,
                                      Operation::active_message_sent,
                                      options.tag,
                                      options.completion,
                                      options.user_data,
                                      options.message_class,
                                      name_of(options.region)};
  switch (rendezvous_.start(outbound, caller, result)) {
    case Rendezvous::Start::started:
      return Status::posted();
    case Rendezvous::Start::no_request:
      return Status::retry(Reason::no_request);
    case Rendezvous::Start::refused:
      break;
  }
  const Status status = to_status(result);
  return status.is_retry()
             ? status
             : end_post(result == SendResult::peer_left, peer, bytes.data(), bytes.size(), options);
}

Status ActiveMessages::attempt_packet(int peer, RemoteCompletion remote, Packet& packet, std::size_t size,
                                      const std::byte* source, const ActiveMessageOptions& options,
                                      Caller caller) noexcept {
  const SendResult result = send_or_answer(
      active_message(peer, remote, options, caller.reserves_room), caller, [&](const Outgoing& outgoing) {
        return posts_.context.port->send_packet(outgoing, packet.index(), size, caller);
      });
  const Status status = to_status(result);
  if (status.is_retry()) return status;
  if (result == SendResult::sent) packet.release();
  return end_post(result == SendResult::peer_left, peer, source, size, options);
}

Status ActiveMessages::post(int peer, RemoteCompletion remote, Bytes bytes,
                            const ActiveMessageOptions& options, Caller caller) {
  check_target(peer, remote, posts_.context, "post_am");
  check_class(options.message_class, "post_am");
  check_region(options.region, bytes, posts_.context, "post_am");
  if (options.timeout.count() != 0) [[unlikely]]
    return posts_.timed.post(
        "post_am", {Operation::active_message_sent, peer, options.tag, bytes.data(), bytes.size()}, options,
        [&](const ActiveMessageOptions& within) { return post(peer, remote, bytes, within, caller); });
  return submit(
      posts_,
      {Operation::active_message_sent, peer, options.tag, bytes.size(),
       posts_.backlog.waits_for_room(peer, options.message_class), options.may_retry},
      caller,
      [&](Caller by) {
        const Status status = attempt(peer, remote, bytes, options, by);
        if (status.reason() == Reason::not_ready) [[unlikely]]
          posts_.context.note_unready(peer, remote);
        return status;
      },
      [&](Status refused) { return enqueue(refused, peer, remote, bytes, nullptr, options); });
}

Status ActiveMessages::post_packet(int peer, RemoteCompletion remote, Packet& packet, std::size_t size,
                                   const ActiveMessageOptions& options, Caller caller) {
  check_target(peer, remote, posts_.context, "post_am");
  check_class(options.message_class, "post_am");
  check_packet(packet, size, "post_am");
  if (options.timeout.count() != 0) [[unlikely]]
    return posts_.timed.post("post_am", {Operation::active_message_sent, peer, options.tag, nullptr, 0},
                             options, [&](const ActiveMessageOptions& within) {
                               return post_packet(peer, remote, packet, size, within, caller);
                             });
  // A short payload is sent in slots, and the packet is free again at once; in the backlog it stays in its
  // packet.
  const Bytes bytes{packet.data(), size};
  return submit(
      posts_,
      {Operation::active_message_sent, peer, options.tag, size,
       posts_.backlog.waits_for_room(peer, options.message_class), options.may_retry},
      caller,
      [&](Caller by) {
        const Status status = size <= detail::kSlotPayload
                                  ? attempt(peer, remote, bytes, options, by)
                                  : attempt_packet(peer, remote, packet, size, bytes.data(), options, by);
        if (!status.is_retry()) packet.reset();
        return status;
      },
      [&](Status refused) { return enqueue(refused, peer, remote, bytes, &packet, options); });
}

Status ActiveMessages::enqueue(Status refused, int peer, RemoteCompletion remote, Bytes bytes, Packet* packet,
                               const ActiveMessageOptions& options) noexcept {
  PendingPost* post = take_pending(posts_, peer, options.message_class, bytes, packet,
                                   options.completion != nullptr, refused);
  if (post == nullptr) return refused;
  post->remote = remote;
  post->options = options;
  posts_.backlog.add(*post);
  return Status::posted();
}

Status ActiveMessages::post_again(PendingPost& post, Caller caller) noexcept {
  ActiveMessageOptions options = post.options;
  options.may_complete_now = false;  // the poster was told that it was posted
  if (post.packet && post.size > detail::kSlotPayload)
    return attempt_packet(post.peer, post.remote, post.packet, post.size, post.data, options, caller);
  return attempt(post.peer, post.remote, {post.packet ? post.packet.data() : post.data, post.size}, options,
                 caller);
}

template <class Locking>
bool ActiveMessages::try_post_multi_slot(int peer, RemoteCompletion remote, const std::byte* data,
                                         std::size_t size, std::uint32_t tag) noexcept {
  if (size <= detail::kSlotPayload) __builtin_unreachable();  // those are posted inlined
  detail::SendLane* const lane = posts_.path.lane(peer, remote.device(), detail::column_of_post<Locking>());
  if (lane == nullptr) return false;
  if (lane->open_handles[remote.id()].load(std::memory_order_relaxed) != detail::open_handle(remote.bits()))
    return false;
  if (multi_slot_.try_write_short<Locking, MultiSlotKind::active_message>(
          *lane, detail::handle_word(remote, tag), {data, size}, 0)) [[likely]]
    return true;
  return try_post_multi_slot_slow<Locking>(*lane, detail::handle_word(remote, tag), data, size);
}

/// Out of line, so that try_post_multi_slot() saves no registers for it.
template <class Locking>
[[gnu::noinline]] bool ActiveMessages::try_post_multi_slot_slow(detail::SendLane& lane, std::uint64_t word,
                                                                const std::byte* data,
                                                                std::size_t size) noexcept {
  return multi_slot_.try_write<Locking, MultiSlotKind::active_message>(lane, word, {data, size}, 0);
}
template bool ActiveMessages::try_post_multi_slot<detail::TryLock>(int, RemoteCompletion, const std::byte*,
                                                                   std::size_t, std::uint32_t) noexcept;
template bool ActiveMessages::try_post_multi_slot<detail::NoLock>(int, RemoteCompletion, const std::byte*,
                                                                  std::size_t, std::uint32_t) noexcept;

}  // namespace weft::core
