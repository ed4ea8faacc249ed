#include "core/protocol/multipart/post.hpp"

#include "base/refuse.hpp"
#include "core/protocol/enqueue.hpp"
#include "core/protocol/post_checks.hpp"
#include "core/protocol/submit.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <string>

namespace weft::core {

Status MultipartPosts::attempt(const MultipartMessages::Outbound& outbound, Caller caller) noexcept {
  Status refused;
  bool has_left = false;
  switch (messages_.start(outbound, caller, refused, has_left)) {
    case Rendezvous::Start::started:
      return Status::posted();
    case Rendezvous::Start::no_request:
      return Status::retry(Reason::no_request);
    case Rendezvous::Start::refused:
      break;
  }
  if (!has_left) return refused;
  return active_messages_.end_post(true, outbound.peer, outbound.head.data(), 0, outbound.options);
}

Status MultipartPosts::post(int peer, RemoteCompletion remote, Bytes head, std::span<const Bytes> parts,
                            const ActiveMessageOptions& options, Caller caller) {
  const Context& context = posts_.context;
  if (head.size() > context.limits.packet_bytes)
    base::refuse(ErrorClass::length, "post_am",
                 "a head of " + std::to_string(head.size()) + " bytes is larger than a packet (" +
                     std::to_string(context.limits.packet_bytes) + "): make it a part");
  if (options.timeout.count() != 0)
    base::refuse(ErrorClass::option, "post_am",
                 "a message with parts takes no timeout: its receiver decides when it fetches them");
  if (parts.empty()) return active_messages_.post(peer, remote, head, options, caller);
  check_target(peer, remote, context, "post_am");
  check_class(options.message_class, "post_am");
  if (parts.size() > kMostParts)
    base::refuse(ErrorClass::length, "post_am",
                 std::to_string(parts.size()) + " parts are more than a message can have (" +
                     std::to_string(kMostParts) + ")");
  const MultipartMessages::Outbound outbound{peer, remote, head, parts, size_of(parts, "post_am"), options};
  return submit(
      posts_,
      {Operation::multipart_message, peer, options.tag, outbound.parts_size,
       posts_.backlog.waits_for_room(peer, options.message_class), options.may_retry},
      caller, [&](Caller by) { return attempt(outbound, by); },
      [&](Status refused) { return enqueue(refused, outbound); });
}

Status MultipartPosts::enqueue(Status refused, const MultipartMessages::Outbound& outbound) noexcept {
  // Without a completion object the poster does not learn when the buffers are free.
  if (outbound.options.completion == nullptr) return refused;
  std::unique_ptr<Bytes[]> parts(new (std::nothrow) Bytes[outbound.parts.size()]);
  if (parts == nullptr) return refused;
  PendingPost* post = take_pending(posts_, outbound.peer, outbound.options.message_class, outbound.head,
                                   nullptr, true, refused);
  if (post == nullptr) return refused;
  std::copy(outbound.parts.begin(), outbound.parts.end(), parts.get());
  post->operation = Operation::multipart_message;
  post->remote = outbound.remote;
  post->options = outbound.options;
  post->other = PendingParts{std::move(parts), outbound.parts.size(), outbound.parts_size};
  posts_.backlog.add(*post);
  return Status::posted();
}

Status MultipartPosts::post_again(PendingPost& post, Caller caller) noexcept {
  const auto& pending = std::get<PendingParts>(post.other);
  ActiveMessageOptions options = post.options;
  options.may_complete_now = false;  // the poster was told that it was posted
  const Status status = attempt({post.peer,
                                 post.remote,
                                 {post.data, post.size},
                                 {pending.parts.get(), pending.count},
                                 pending.size,
                                 options},
                                caller);
  if (!status.is_retry()) post.other = std::monostate();
  return status;
}

}  // namespace weft::core
