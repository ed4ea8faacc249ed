// Posts of lists of buffers.
#include "core/runtime/device_state.hpp"
#include "core/runtime/post_within.hpp"
#include "core/runtime/runtime_state.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <new>
#include <string>

namespace weft::detail {

using core::MultipartMessages;
using core::Rendezvous;

namespace {

/// Returns the sum of the buffers' sizes; throws weft::Error when a message cannot have so many bytes.
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

Status DeviceState::attempt_multipart(const MultipartMessages::Outbound& outbound, bool exclusive) noexcept {
  Status refused;
  bool has_left = false;
  switch (vectored_messages_.start(outbound, exclusive, refused, has_left)) {
    case Rendezvous::Start::started:
      return Status::posted();
    case Rendezvous::Start::no_request:
      return Status::retry(Reason::no_request);
    case Rendezvous::Start::refused:
      break;
  }
  if (!has_left) return refused;
  return accepted(network::SendResult::peer_left, outbound.peer, outbound.head.data(), 0, outbound.options);
}

Status DeviceState::post_multipart_am(int peer, RemoteCompletion remote, Bytes head,
                                      std::span<const Bytes> parts, const ActiveMessageOptions& options,
                                      bool exclusive) {
  if (head.size() > context_.limits.packet_bytes)
    throw Error("post_am: a head of " + std::to_string(head.size()) + " bytes is larger than a packet (" +
                std::to_string(context_.limits.packet_bytes) + "): make it a part");
  if (options.timeout.count() != 0)
    throw Error("post_am: a message with parts takes no timeout: its receiver decides when it fetches them");
  if (parts.empty()) return post_am(peer, remote, head, options, exclusive);
  check_target(peer, remote, "post_am");
  check_class(options.message_class, "post_am");
  if (parts.size() > core::kMostParts)
    throw Error("post_am: " + std::to_string(parts.size()) + " parts are more than a message can have (" +
                std::to_string(core::kMostParts) + ")");
  const MultipartMessages::Outbound outbound{peer, remote, head, parts, size_of(parts, "post_am"), options};
  const Status status = backlog_.waits_for_room(peer, options.message_class)
                            ? Status::retry(Reason::backlog)
                            : attempt_multipart(outbound, exclusive);
  observe(Operation::multipart_message, peer, options.tag, outbound.parts_size, status);
  if (!status.is_retry() || (options.may_retry && !in_handler())) return status;
  return enqueue_multipart(status, outbound);
}

Status DeviceState::enqueue_multipart(Status refused, const MultipartMessages::Outbound& outbound) noexcept {
  // Without a completion object the poster does not learn when the buffers are free.
  if (outbound.options.completion == nullptr) return refused;
  std::unique_ptr<Bytes[]> parts(new (std::nothrow) Bytes[outbound.parts.size()]);
  if (parts == nullptr) return refused;
  core::PendingPost* post =
      take_pending(outbound.peer, outbound.options.message_class, outbound.head, nullptr, true, refused);
  if (post == nullptr) return refused;
  std::copy(outbound.parts.begin(), outbound.parts.end(), parts.get());
  post->operation = Operation::multipart_message;
  post->remote = outbound.remote;
  post->options = outbound.options;
  post->other = core::PendingParts{std::move(parts), outbound.parts.size(), outbound.parts_size};
  backlog_.add(*post);
  return Status::posted();
}

Status DeviceState::post_vectored_again(core::PendingPost& post, bool exclusive) noexcept {
  const auto& pending = std::get<core::PendingParts>(post.other);
  ActiveMessageOptions options = post.options;
  options.may_complete_now = false;  // the poster was told that it was posted
  const Status status = attempt_multipart({post.peer,
                                           post.remote,
                                           {post.data, post.size},
                                           {pending.parts.get(), pending.count},
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
  if (status.is_retry()) pool.release(*receive);
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
      options, in_handler(), exclusive);
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
      options, in_handler(), exclusive);
}

}  // namespace weft::detail
