// Slow path of posts of active messages: protocols other than one slot, refusals, the backlog; waiting for a
// completion object.
#include "base/memory/bulk_copy.hpp"
#include "core/completion/signal_end.hpp"
#include "core/deadline/timeout.hpp"
#include "core/protocol/message_class.hpp"
#include "core/protocol/to_status.hpp"
#include "core/runtime/device_state.hpp"
#include "core/runtime/post_within.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/wait/one_message.hpp"
#include "core/wait/until_accepted.hpp"

#include <weft/error.hpp>

#include <cstring>
#include <memory>
#include <new>
#include <string>

namespace weft::detail {

using core::Channel;
using core::Protocol;
using core::Rendezvous;
using core::to_status;
using network::Outgoing;
using network::SendResult;
using network::TrafficClass;

namespace {

Outgoing active_message(int peer, RemoteCompletion remote, const ActiveMessageOptions& options,
                        bool reserves_room) noexcept {
  Outgoing outgoing{};
  outgoing.peer = peer;
  outgoing.device = remote.device();
  outgoing.traffic = core::traffic_of(options.message_class);
  outgoing.channel = static_cast<std::uint8_t>(Channel::active_message);
  outgoing.to_handle = true;
  outgoing.word = handle_word(remote, options.tag);
  outgoing.reserves_room = reserves_room;
  return outgoing;
}

/// Sends on the lane of the message's class or, when that is full and a handler has posted, on the control
/// lane. Requests on a data lane may have to wait because what their handlers post finds no room; answers are
/// always accepted. So two ranks that flood each other with requests never wait for each other's answers.
template <class Send>
SendResult send_or_answer(Outgoing outgoing, bool from_handler, const Send& send) noexcept {
  const SendResult result = send(outgoing);
  if (result != SendResult::no_slot || !from_handler) return result;
  outgoing.traffic = TrafficClass::control;
  outgoing.channel = static_cast<std::uint8_t>(Channel::answer);
  outgoing.reserves_room = false;
  return send(outgoing);
}

}  // namespace

void DeviceState::check_peer(int peer, const char* operation) const {
  if (peer < 0 || peer >= runtime_.reachable()) [[unlikely]] {
    base::refuse_in_forked_copy(operation);
    throw Error(std::string(operation) + ": peer " + std::to_string(peer) +
                " is not a rank of this job (0 to " + std::to_string(runtime_.size() - 1) + ")");
  }
}

void DeviceState::check_class(MessageClass message_class, const char* operation) {
  const auto value = static_cast<std::uint32_t>(message_class);
  if (!core::is_message_class(value)) [[unlikely]]
    throw Error(std::string(operation) + ": message class " + std::to_string(value) +
                " is none of normal (0), control (1) and bulk (2)");
}

void DeviceState::check_packet(const Packet& packet, std::size_t size, const char* operation) {
  if (!packet || size > packet.capacity()) [[unlikely]]
    throw Error(std::string(operation) + ": " + std::to_string(size) + " bytes do not fit into a packet of " +
                std::to_string(packet ? packet.capacity() : 0) + " bytes");
}

void DeviceState::check_target(int peer, RemoteCompletion remote, const char* operation) const {
  check_peer(peer, operation);
  if (remote.generation() == 0) [[unlikely]]
    throw Error(std::string(operation) + ": the handle names nothing; use what Runtime::expose returned");
}

/// For posts that have not checked whether the peer has left, because lanes and windows do not tell.
Status DeviceState::signal_completion(Operation operation, int peer, std::uint64_t tag, Bytes bytes,
                                      Completion& completion, void* user_data) noexcept {
  const bool lost = port_->has_left(peer);
  const bool is_message = operation == Operation::send || operation == Operation::active_message_sent;
  if (lost && is_message) runtime_.counters().dropped_sends.fetch_add(1, std::memory_order_relaxed);
  return core::signal_end(ends_, operation, peer, tag, bytes, completion, user_data,
                          lost ? Outcome::peer_failed : Outcome::ok, index_);
}

Status DeviceState::accepted(SendResult result, int peer, const std::byte* data, std::size_t size,
                             const ActiveMessageOptions& options) noexcept {
  const bool lost = result == SendResult::peer_left;
  if (lost) [[unlikely]] {
    runtime_.counters().dropped_sends.fetch_add(1, std::memory_order_relaxed);
    context_.lose(peer, "active message");
  }
  if (options.completion == nullptr || (options.may_complete_now && !lost)) return Status::done();
  return core::signal_end(ends_, Operation::active_message_sent, peer, options.tag, {data, size},
                          *options.completion, options.user_data, lost ? Outcome::peer_failed : Outcome::ok,
                          index_);
}

Status DeviceState::attempt(int peer, RemoteCompletion remote, Bytes bytes,
                            const ActiveMessageOptions& options, bool from_handler, bool exclusive) noexcept {
  switch (core::select(bytes.size(), context_.limits)) {
    case Protocol::inject: {
      const SendResult result = send_or_answer(
          active_message(peer, remote, options, !backlog_.empty()), from_handler,
          [&](const Outgoing& outgoing) { return context_.port->send(outgoing, bytes, exclusive); });
      const Status status = to_status(result);
      return status.is_retry() ? status : accepted(result, peer, bytes.data(), bytes.size(), options);
    }
    case Protocol::eager: {
      Packet packet = context_.pool.get_for(options.message_class);
      if (!packet) return Status::retry(Reason::no_packet);
      base::copy_bulk(packet.data(), bytes.data(), bytes.size());
      return attempt_packet(peer, remote, packet, bytes.size(), bytes.data(), options, from_handler,
                            exclusive);
    }
    case Protocol::rendezvous:
      break;
  }
  SendResult result = SendResult::sent;
  const Rendezvous::Outbound outbound{peer,
                                      remote.device(),
                                      Channel::rts,
                                      handle_word(remote, options.tag),
                                      nullptr,
                                      bytes,
                                      Operation::active_message_sent,
                                      options.tag,
                                      options.completion,
                                      options.user_data,
                                      options.message_class};
  switch (rendezvous_.start(outbound, exclusive, result)) {
    case Rendezvous::Start::started:
      return Status::posted();
    case Rendezvous::Start::no_request:
      return Status::retry(Reason::no_request);
    case Rendezvous::Start::refused:
      break;
  }
  const Status status = to_status(result);
  return status.is_retry() ? status : accepted(result, peer, bytes.data(), bytes.size(), options);
}

Status DeviceState::attempt_packet(int peer, RemoteCompletion remote, Packet& packet, std::size_t size,
                                   const std::byte* source, const ActiveMessageOptions& options,
                                   bool from_handler, bool exclusive) noexcept {
  const SendResult result = send_or_answer(
      active_message(peer, remote, options, !backlog_.empty()), from_handler, [&](const Outgoing& outgoing) {
        return context_.port->send_packet(outgoing, packet.index(), size, exclusive);
      });
  const Status status = to_status(result);
  if (status.is_retry()) return status;
  if (result == SendResult::sent) packet.release();
  return accepted(result, peer, source, size, options);
}

Status DeviceState::post_am(int peer, RemoteCompletion remote, Bytes bytes,
                            const ActiveMessageOptions& options, bool exclusive) {
  check_target(peer, remote, "post_am");
  check_class(options.message_class, "post_am");
  if (options.timeout.count() != 0) [[unlikely]]
    return post_within(
        "post_am", {Operation::active_message_sent, peer, options.tag, bytes.data(), bytes.size()}, options,
        [&](const ActiveMessageOptions& within) { return post_am(peer, remote, bytes, within, exclusive); });
  const Status status = backlog_.waits_for_room(peer, options.message_class)
                            ? Status::retry(Reason::backlog)
                            : attempt(peer, remote, bytes, options, in_handler(), exclusive);
  observe(Operation::active_message_sent, peer, options.tag, bytes.size(), status);
  if (!status.is_retry() || (options.may_retry && !in_handler())) [[likely]]
    return status;
  return enqueue(status, peer, remote, bytes, nullptr, options);
}

Status DeviceState::post_packet(int peer, RemoteCompletion remote, Packet& packet, std::size_t size,
                                const ActiveMessageOptions& options, bool exclusive) {
  check_target(peer, remote, "post_am");
  check_class(options.message_class, "post_am");
  check_packet(packet, size, "post_am");
  if (options.timeout.count() != 0) [[unlikely]]
    return post_within("post_am", {Operation::active_message_sent, peer, options.tag, nullptr, 0}, options,
                       [&](const ActiveMessageOptions& within) {
                         return post_packet(peer, remote, packet, size, within, exclusive);
                       });
  // A short payload is sent in slots, and the packet is free again at once; in the backlog it stays in its
  // packet.
  const Status status =
      backlog_.waits_for_room(peer, options.message_class) ? Status::retry(Reason::backlog)
      : size <= kSlotPayload
          ? attempt(peer, remote, Bytes{packet.data(), size}, options, in_handler(), exclusive)
          : attempt_packet(peer, remote, packet, size, packet.data(), options, in_handler(), exclusive);
  observe(Operation::active_message_sent, peer, options.tag, size, status);
  if (!status.is_retry()) {
    packet.reset();
    return status;
  }
  if (options.may_retry && !in_handler()) [[likely]]
    return status;
  return enqueue(status, peer, remote, Bytes{packet.data(), size}, &packet, options);
}

core::PendingPost* DeviceState::take_pending(int peer, MessageClass message_class, Bytes bytes,
                                             Packet* packet, bool is_borrowed, Status& refused) noexcept {
  Packet copy;
  std::unique_ptr<std::byte[]> long_copy;
  if (packet == nullptr && !is_borrowed && bytes.size() > core::PendingPost::kCopied) {
    // Without a completion object the poster does not learn when its buffer is free: the payload moves into a
    // packet, or, where the backlog grows, into memory of its own; else the post fails.
    if (bytes.size() <= context_.limits.packet_bytes) copy = context_.pool.get_for(message_class);
    if (!copy && backlog_.grows()) long_copy.reset(new (std::nothrow) std::byte[bytes.size()]);
    if (!copy && long_copy == nullptr) return nullptr;
  }
  core::PendingPost* post = backlog_.take(peer, in_handler(), message_class);
  if (post == nullptr) {
    refused = Status::retry(Reason::backlog);
    return nullptr;
  }
  count_first_queued(peer, refused);
  post->data = bytes.data();
  post->size = bytes.size();
  if (packet != nullptr) {
    post->packet = std::move(*packet);
  } else if (copy) {
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    post->packet = std::move(copy);
  } else if (long_copy != nullptr) {
    std::memcpy(long_copy.get(), bytes.data(), bytes.size());
    post->data = long_copy.get();
    post->long_copy = std::move(long_copy);
  } else if (!is_borrowed) {
    if (!bytes.empty()) std::memcpy(post->copy, bytes.data(), bytes.size());
    post->data = post->copy;
  }
  return post;
}

Status DeviceState::enqueue(Status refused, int peer, RemoteCompletion remote, Bytes bytes, Packet* packet,
                            const ActiveMessageOptions& options) noexcept {
  core::PendingPost* post =
      take_pending(peer, options.message_class, bytes, packet, options.completion != nullptr, refused);
  if (post == nullptr) return refused;
  post->remote = remote;
  post->options = options;
  backlog_.add(*post);
  return Status::posted();
}

Status DeviceState::post_again(core::PendingPost& post, bool exclusive) noexcept {
  if (post.operation == Operation::send || post.operation == Operation::receive)
    return post_matched_again(post, exclusive);
  if (post.operation == Operation::put || post.operation == Operation::get ||
      post.operation == Operation::atomic)
    return one_sided_.post_again(post, exclusive);
  if (post.operation == Operation::multipart_message) return post_vectored_again(post, exclusive);
  ActiveMessageOptions options = post.options;
  options.may_complete_now = false;  // the poster was told that it was posted
  if (post.packet && post.size > kSlotPayload)
    return attempt_packet(post.peer, post.remote, post.packet, post.size, post.data, options,
                          post.from_handler, exclusive);
  return attempt(post.peer, post.remote, {post.packet ? post.packet.data() : post.data, post.size}, options,
                 post.from_handler, exclusive);
}

Outcome DeviceState::send_am(int peer, RemoteCompletion remote, Bytes bytes,
                             const ActiveMessageOptions& options, const std::source_location& where,
                             bool exclusive) {
  ActiveMessageOptions patient = options;
  OneMessage sent;
  const bool wait_for_buffer =
      options.completion == nullptr &&
      (options.timeout.count() != 0 || core::select(bytes.size(), context_.limits) == Protocol::rendezvous);
  if (wait_for_buffer) {
    patient.completion = &sent;
    patient.may_complete_now = true;
  }
  patient.may_retry = true;
  const WaitPlace place{"an active message to be sent", where, peer};
  const TimeLeft time_left(options.timeout);
  const Status status = until_accepted(
      [&] {
        patient.timeout = time_left.left();
        return post_am(peer, remote, bytes, patient, exclusive);
      },
      place, exclusive);
  if (!wait_for_buffer || !status.is_posted()) return Outcome::ok;
  wait_for(sent, place, exclusive);
  return sent.take().outcome();
}

void DeviceState::wait_for(Completion& completion, const WaitPlace& place, bool exclusive) noexcept {
  wait({[](const void* object) noexcept { return static_cast<const Completion*>(object)->ready(); },
        &completion, &completion, place},
       exclusive);
}

}  // namespace weft::detail
