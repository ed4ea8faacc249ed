// Posts of lists of buffers.
#include "core/runtime/device_state.hpp"
#include "core/runtime/post_within.hpp"
#include "core/runtime/progress_frame.hpp"
#include "core/runtime/runtime_state.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <new>
#include <string>

namespace weft::detail {

using core::LargeMessages;
using core::VectoredMessages;

namespace {

/// The sum of the buffers' sizes; throws weft::Error when a message cannot have so many bytes.
template <class Buffer>
std::size_t size_of(std::span<const Buffer> buffers, const char* operation) {
  std::uint64_t size = 0;
  for (const Buffer& buffer : buffers) {
    if (buffer.size() > core::kLargestMessage - size)
      throw Error(std::string(operation) + ": the buffers have more than " +
                  std::to_string(core::kLargestMessage) + " bytes together");
    size += buffer.size();
  }
  return size;
}

}  // namespace

Status DeviceState::attempt_with_bodies(const VectoredMessages::Outbound& outbound, bool exclusive) noexcept {
  Status refused;
  bool is_gone = false;
  switch (vectored_messages_.start(outbound, exclusive, refused, is_gone)) {
    case LargeMessages::Start::started:
      return Status::posted();
    case LargeMessages::Start::no_request:
      return Status::retry(Reason::no_request);
    case LargeMessages::Start::refused:
      break;
  }
  if (!is_gone) return refused;
  return accepted(network::SendResult::peer_gone, outbound.peer, outbound.head.data(), 0, outbound.options);
}

Status DeviceState::post_am_with_bodies(int peer, RemoteCompletion remote, Bytes head,
                                        std::span<const Bytes> bodies, const ActiveMessageOptions& options,
                                        bool exclusive) {
  if (head.size() > context_.limits.packet_bytes)
    throw Error("post_am: a head of " + std::to_string(head.size()) + " bytes is larger than a packet (" +
                std::to_string(context_.limits.packet_bytes) + "): make it a body");
  if (options.timeout.count() != 0)
    throw Error("post_am: a message with bodies takes no timeout: its receiver decides when it fetches them");
  if (bodies.empty()) return post_am(peer, remote, head, options, exclusive);
  check_target(peer, remote, "post_am");
  check_class(options.message_class, "post_am");
  if (bodies.size() > core::kMostBodies)
    throw Error("post_am: " + std::to_string(bodies.size()) + " bodies are more than a message can have (" +
                std::to_string(core::kMostBodies) + ")");
  const VectoredMessages::Outbound outbound{peer, remote, head, bodies, size_of(bodies, "post_am"), options};
  const Status status = backlog_.waits_for_room(peer, options.message_class)
                            ? Status::retry(Reason::backlog)
                            : attempt_with_bodies(outbound, exclusive);
  observe(Operation::vectored_message, peer, options.tag, outbound.bodies_size, status);
  if (!status.is_retry() || (options.may_retry && frames == nullptr)) return status;
  return keep_with_bodies(status, outbound);
}

Status DeviceState::keep_with_bodies(Status refused, const VectoredMessages::Outbound& outbound) noexcept {
  // Without a completion object nobody could tell the poster when the buffers are free.
  if (outbound.options.completion == nullptr) return refused;
  std::unique_ptr<Bytes[]> bodies(new (std::nothrow) Bytes[outbound.bodies.size()]);
  if (bodies == nullptr) return refused;
  core::PendingPost* post =
      take_pending(outbound.peer, outbound.options.message_class, outbound.head, nullptr, true, refused);
  if (post == nullptr) return refused;
  std::copy(outbound.bodies.begin(), outbound.bodies.end(), bodies.get());
  post->operation = Operation::vectored_message;
  post->remote = outbound.remote;
  post->options = outbound.options;
  post->other = core::PendingBodies{std::move(bodies), outbound.bodies.size(), outbound.bodies_size};
  backlog_.add(*post);
  return Status::posted();
}

Status DeviceState::post_vectored_again(core::PendingPost& post, bool exclusive) noexcept {
  const auto& pending = std::get<core::PendingBodies>(post.other);
  ActiveMessageOptions options = post.options;
  options.may_complete_now = false;  // the poster was told that it was posted
  const Status status = attempt_with_bodies({post.peer,
                                             post.remote,
                                             {post.data, post.size},
                                             {pending.bodies.get(), pending.count},
                                             pending.size,
                                             options},
                                            exclusive);
  if (!status.is_retry()) post.other = std::monostate();
  return status;
}

Status DeviceState::post_send(int peer, std::uint64_t tag, std::span<const Bytes> parts,
                              const SendOptions& options, bool exclusive) {
  return post_payload(peer, tag, {{}, parts, size_of(parts, "post_send")}, nullptr, options, exclusive);
}

Status DeviceState::post_receive(int source, std::uint64_t tag, std::span<const MutableBytes> buffers,
                                 const ReceiveOptions& options) {
  const bool has_timeout = options.timeout.count() != 0;
  if (buffers.size() < 2) {
    const MutableBytes buffer = buffers.empty() ? MutableBytes{} : buffers.front();
    return has_timeout ? post_receive_within(source, tag, buffer, options)
                       : post_receive(source, tag, buffer, options);
  }
  core::MatchingEngine& engine = options.engine < kMatchingEngines
                                     ? check_receive(source, options, "post_receive")
                                     : check_ordered_receive(source, options, "post_receive");
  const std::size_t total = size_of(buffers, "post_receive");
  core::ScatteredReceive::Pool& pool = engine.scattered_receives();
  core::ScatteredReceive* const receive = pool.take();
  if (receive == nullptr) return Status::retry(Reason::no_request);
  Status status = Status::retry(Reason::no_request);
  if (receive->assign(buffers, total, options, pool)) {
    ReceiveOptions own = options;
    own.completion = receive;
    own.user_data = nullptr;
    own.may_complete_now = false;
    own.arrived = nullptr;
    status = has_timeout ? post_receive_within(source, tag, receive->buffer(), own)
                         : post_receive(source, tag, receive->buffer(), own);
  }
  if (status.is_retry()) pool.give_back(*receive);
  return status;
}

Status DeviceState::post_put(int peer, std::span<const PutPiece> pieces, const AccessOptions& options,
                             bool exclusive) {
  check_peer(peer, "post_put");
  if (options.timeout.count() != 0)
    return post_within(
        "post_put", {Operation::put, peer, options.tag, nullptr, 0}, options,
        [&](const AccessOptions& within) { return post_put(peer, pieces, within, exclusive); });
  return vectored_accesses_.post(
      Operation::put, peer, pieces.size(),
      [&](std::size_t index) -> core::VectoredAccesses::Piece {
        const PutPiece& piece = pieces[index];
        return {piece.to, const_cast<std::byte*>(piece.from.data()), piece.from.size()};
      },
      options, frames != nullptr, exclusive);
}

Status DeviceState::post_get(int peer, std::span<const GetPiece> pieces, const AccessOptions& options,
                             bool exclusive) {
  check_peer(peer, "post_get");
  if (options.timeout.count() != 0)
    return post_within(
        "post_get", {Operation::get, peer, options.tag, nullptr, 0}, options,
        [&](const AccessOptions& within) { return post_get(peer, pieces, within, exclusive); });
  return vectored_accesses_.post(
      Operation::get, peer, pieces.size(),
      [&](std::size_t index) -> core::VectoredAccesses::Piece {
        const GetPiece& piece = pieces[index];
        return {piece.from, piece.to.data(), piece.to.size()};
      },
      options, frames != nullptr, exclusive);
}

}  // namespace weft::detail
