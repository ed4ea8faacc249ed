// The slow way of posts: protocols other than one slot, refusals, the backlog.
#include "base/bulk_copy.hpp"
#include "core/completion/signal_end.hpp"
#include "core/protocol/refusal.hpp"
#include "core/protocol/traffic.hpp"
#include "core/runtime/device_state.hpp"
#include "core/runtime/one_message.hpp"
#include "core/runtime/patience.hpp"
#include "core/runtime/post_within.hpp"
#include "core/runtime/progress_frame.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/runtime/until_accepted.hpp"

#include <weft/error.hpp>

#include <cstring>
#include <string>

namespace weft::detail {

using core::Channel;
using core::LargeMessages;
using core::Protocol;
using core::refusal;
using network::Outgoing;
using network::SendResult;
using network::TrafficClass;

namespace {

Outgoing active_message(int peer, RemoteCompletion remote, const ActiveMessageOptions& options,
                        bool keeps_room) noexcept {
  Outgoing outgoing{};
  outgoing.peer = peer;
  outgoing.device = remote.device();
  outgoing.traffic = core::traffic_of(options.message_class);
  outgoing.channel = static_cast<std::uint8_t>(Channel::active_message);
  outgoing.to_handle = true;
  outgoing.word = handle_word(remote, options.tag);
  outgoing.keeps_room = keeps_room;
  return outgoing;
}

/// Sends on the lane of its class, or, what a handler has posted, on the control lane when that one is full.
/// Requests on such a lane may have to wait because what their handlers post finds no room; answers are
/// always taken. So two ranks that flood each other with requests never wait for each other's answers.
template <class Send>
SendResult send_or_answer(Outgoing outgoing, bool from_handler, const Send& send) noexcept {
  const SendResult result = send(outgoing);
  if (result != SendResult::no_slot || !from_handler) return result;
  outgoing.traffic = TrafficClass::control;
  outgoing.channel = static_cast<std::uint8_t>(Channel::answer);
  outgoing.keeps_room = false;
  return send(outgoing);
}

}  // namespace

void DeviceState::check_peer(int peer, const char* operation) const {
  if (peer < 0 || peer >= runtime_.size()) [[unlikely]]
    throw Error(std::string(operation) + ": peer " + std::to_string(peer) +
                " is not a rank of this job (0 to " + std::to_string(runtime_.size() - 1) + ")");
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

/// For posts that have not asked whether the peer is there, because lanes and windows do not say.
Status DeviceState::tell_end(Operation operation, int peer, std::uint64_t tag, Bytes bytes,
                             Completion& completion, void* user_data) noexcept {
  const bool lost = port_->gone(peer);
  const bool is_message = operation == Operation::send || operation == Operation::active_message_sent;
  if (lost && is_message) runtime_.counters().dropped_sends.fetch_add(1, std::memory_order_relaxed);
  return core::signal_end(operation, peer, tag, bytes, completion, user_data,
                          lost ? Outcome::peer_failed : Outcome::ok);
}

Status DeviceState::accepted(SendResult result, int peer, const std::byte* data, std::size_t size,
                             const ActiveMessageOptions& options) noexcept {
  const bool lost = result == SendResult::peer_gone;
  if (lost) runtime_.counters().dropped_sends.fetch_add(1, std::memory_order_relaxed);
  if (options.completion == nullptr || (options.may_complete_now && !lost)) return Status::done();
  return core::signal_end(Operation::active_message_sent, peer, options.tag, {data, size},
                          *options.completion, options.user_data, lost ? Outcome::peer_failed : Outcome::ok);
}

Status DeviceState::attempt(int peer, RemoteCompletion remote, Bytes bytes,
                            const ActiveMessageOptions& options, bool from_handler, bool exclusive) noexcept {
  switch (core::select(bytes.size(), context_.limits)) {
    case Protocol::inject: {
      const SendResult result = send_or_answer(
          active_message(peer, remote, options, !backlog_.empty()), from_handler,
          [&](const Outgoing& outgoing) { return context_.port->send(outgoing, bytes, exclusive); });
      const Status status = refusal(result);
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
  const LargeMessages::Outbound outbound{peer,
                                         remote.device(),
                                         Channel::large_message,
                                         handle_word(remote, options.tag),
                                         nullptr,
                                         bytes,
                                         Operation::active_message_sent,
                                         options.tag,
                                         options.completion,
                                         options.user_data,
                                         options.message_class};
  switch (large_messages_.start(outbound, exclusive, result)) {
    case LargeMessages::Start::started:
      return Status::posted();
    case LargeMessages::Start::no_request:
      return Status::retry(Reason::no_request);
    case LargeMessages::Start::refused:
      break;
  }
  const Status status = refusal(result);
  return status.is_retry() ? status : accepted(result, peer, bytes.data(), bytes.size(), options);
}

Status DeviceState::attempt_packet(int peer, RemoteCompletion remote, Packet& packet, std::size_t size,
                                   const std::byte* source, const ActiveMessageOptions& options,
                                   bool from_handler, bool exclusive) noexcept {
  const SendResult result = send_or_answer(
      active_message(peer, remote, options, !backlog_.empty()), from_handler, [&](const Outgoing& outgoing) {
        return context_.port->send_packet(outgoing, packet.index(), size, exclusive);
      });
  const Status status = refusal(result);
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
                            : attempt(peer, remote, bytes, options, frames != nullptr, exclusive);
  observe(Operation::active_message_sent, peer, options.tag, bytes.size(), status);
  if (!status.is_retry() || (options.may_retry && frames == nullptr)) [[likely]]
    return status;
  return keep_for_retry(status, peer, remote, bytes, nullptr, options);
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
  // A short payload leaves by slots, and the packet is free again at once; in the backlog it stays in its
  // packet.
  const Status status =
      backlog_.waits_for_room(peer, options.message_class) ? Status::retry(Reason::backlog)
      : size <= kSlotPayload
          ? attempt(peer, remote, Bytes{packet.data(), size}, options, frames != nullptr, exclusive)
          : attempt_packet(peer, remote, packet, size, packet.data(), options, frames != nullptr, exclusive);
  observe(Operation::active_message_sent, peer, options.tag, size, status);
  if (!status.is_retry()) {
    packet.reset();
    return status;
  }
  if (options.may_retry && frames == nullptr) [[likely]]
    return status;
  return keep_for_retry(status, peer, remote, Bytes{packet.data(), size}, &packet, options);
}

core::PendingPost* DeviceState::take_pending(int peer, MessageClass message_class, Bytes bytes,
                                             Packet* packet, bool is_borrowed, Status& refused) noexcept {
  Packet copy;
  if (packet == nullptr && !is_borrowed && bytes.size() > core::PendingPost::kCopied) {
    // Nobody could tell the poster when its buffer is free: the payload moves into a packet, or the post
    // fails.
    if (bytes.size() > context_.limits.packet_bytes) return nullptr;
    copy = context_.pool.get_for(message_class);
    if (!copy) return nullptr;
  }
  core::PendingPost* post = backlog_.take(peer, frames != nullptr, message_class);
  if (post == nullptr) {
    refused = Status::retry(Reason::backlog);
    return nullptr;
  }
  note_first_kept(peer, refused);
  post->data = bytes.data();
  post->size = bytes.size();
  if (packet != nullptr) {
    post->packet = std::move(*packet);
  } else if (copy) {
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    post->packet = std::move(copy);
  } else if (!is_borrowed) {
    if (!bytes.empty()) std::memcpy(post->copy, bytes.data(), bytes.size());
    post->data = post->copy;
  }
  return post;
}

Status DeviceState::keep_for_retry(Status refused, int peer, RemoteCompletion remote, Bytes bytes,
                                   Packet* packet, const ActiveMessageOptions& options) noexcept {
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
  if (post.operation == Operation::vectored_message) return post_vectored_again(post, exclusive);
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
  const Patience patience(options.timeout);
  const Status status = until_accepted(
      [&] {
        patient.timeout = patience.left();
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
