#include "core/device/parts/queued_posts.hpp"

#include "core/protocol/timed_posts.hpp"

namespace weft::core {

namespace {

/// What a queued post signals when it ends.
struct QueuedPost {
  Unposted unposted;
  Completion* completion;
  void* user_data;
};

QueuedPost queued_post(const PendingPost& post) noexcept {
  QueuedPost kept{
      {post.operation, post.peer, 0, post.packet ? nullptr : post.data, post.size}, nullptr, nullptr};
  const auto take = [&](const auto& options, std::uint64_t tag) {
    kept.unposted.tag = tag;
    kept.completion = options.completion;
    kept.user_data = options.user_data;
  };
  switch (post.operation) {
    case Operation::send: {
      const auto& send = std::get<PendingSend>(post.other);
      take(send.options, send.tag);
      break;
    }
    case Operation::receive: {
      const auto& receive = std::get<PendingReceive>(post.other);
      take(receive.options, receive.tag);
      kept.unposted.peer = receive.source;
      kept.unposted.data = receive.buffer.data();
      kept.unposted.size = 0;
      break;
    }
    case Operation::put:
    case Operation::get:
    case Operation::atomic: {
      const AccessOptions& options = std::get<PendingAccess>(post.other).options;
      take(options, options.tag);
      break;
    }
    default:
      take(post.options, post.options.tag);
      break;
  }
  return kept;
}

}  // namespace

Status QueuedPosts::post_again(PendingPost& post, Caller by) noexcept {
  const Caller caller{by.exclusive, post.from_handler, true, true};
  switch (post.operation) {
    case Operation::send:
      return sends_.post_again(post, caller);
    case Operation::receive:
      if (std::get<PendingReceive>(post.other).is_cancelled) {
        end(post, Outcome::cancelled);
        return Status::done();
      }
      return receives_.post_again(post, caller);
    case Operation::put:
    case Operation::get:
    case Operation::atomic:
      return one_sided_.post_again(post, caller);
    case Operation::multipart_message:
      return multipart_.post_again(post, caller);
    default:
      return active_messages_.post_again(post, caller);
  }
}

void QueuedPosts::end(PendingPost& post, Outcome outcome) noexcept {
  const QueuedPost kept = queued_post(post);
  switch (post.operation) {
    case Operation::send:
      sends_.leave_backlog(post);
      break;
    case Operation::receive:
      receives_.leave_backlog(post);
      break;
    case Operation::put:
    case Operation::get:
    case Operation::atomic:
      one_sided_.requests().flushes().leave(post.peer, std::get<PendingAccess>(post.other).flush_epoch);
      break;
    default:
      break;
  }
  post.other = std::monostate();
  // A send without a completion object ends without a word, as it does elsewhere.
  if (kept.completion != nullptr)
    end_unposted(context_, kept.unposted, *kept.completion, kept.user_data, outcome);
}

const Completion* QueuedPosts::completion_of(const PendingPost& post) noexcept {
  return queued_post(post).completion;
}

}  // namespace weft::core
