#include "core/protocol/enqueue.hpp"

#include "core/completion/immediate_completions.hpp"

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace weft::core {

namespace {

void report_first_queued(const PostContext& posts, int peer, Status refused) noexcept {
  if (posts.backlog.added() != 0) return;
  posts.context.log.in(base::LogModule::backlog).info([&] {
    return "device " + std::to_string(posts.context.device) + " keeps its first refused post, towards rank " +
           std::to_string(peer) + ": " + name_of(refused.reason());
  });
}

}  // namespace

PendingPost* take_pending(const PostContext& posts, int peer, MessageClass message_class, Bytes bytes,
                          Packet* packet, bool is_borrowed, Status& refused) noexcept {
  const Context& context = posts.context;
  Backlog& backlog = posts.backlog;
  Packet copy;
  std::unique_ptr<std::byte[]> long_copy;
  if (packet == nullptr && !is_borrowed && bytes.size() > PendingPost::kCopied) {
    // Without a completion object the poster does not learn when its buffer is free: the payload moves into a
    // packet, or, where the backlog grows, into memory of its own; else the post fails.
    if (bytes.size() <= context.limits.packet_bytes) copy = context.pool.get_for(message_class);
    if (!copy && backlog.grows()) long_copy.reset(new (std::nothrow) std::byte[bytes.size()]);
    if (!copy && long_copy == nullptr) return nullptr;
  }
  PendingPost* post = backlog.take(peer, SignalScope::is_inside(), message_class);
  if (post == nullptr) {
    refused = Status::retry(Reason::backlog);
    return nullptr;
  }
  report_first_queued(posts, peer, refused);
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

}  // namespace weft::core
