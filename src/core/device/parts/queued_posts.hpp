// The posts in the backlog of a device: each belongs to a protocol, which posts it again.
#pragma once

#include "core/backlog/backlog.hpp"
#include "core/protocol/active_message/active_messages.hpp"
#include "core/protocol/matched/posts/receive_posts.hpp"
#include "core/protocol/matched/posts/send_posts.hpp"
#include "core/protocol/multipart/post.hpp"
#include "core/protocol/one_sided/one_sided.hpp"

namespace weft::core {

class QueuedPosts final : public PostRetry {
 public:
  QueuedPosts(const Context& context, ActiveMessages& active_messages, SendPosts& sends,
              ReceivePosts& receives, MultipartPosts& multipart, OneSided& one_sided) noexcept
      : context_(context),
        active_messages_(active_messages),
        sends_(sends),
        receives_(receives),
        multipart_(multipart),
        one_sided_(one_sided) {}

  Status post_again(PendingPost& post, Caller caller) noexcept override;
  /// Ends a post that was taken out of the backlog.
  void end(PendingPost& post, Outcome outcome) noexcept;
  /// The completion object that a post signals, which may be a node of the deadlines.
  [[nodiscard]] static const Completion* completion_of(const PendingPost& post) noexcept;

 private:
  const Context& context_;
  ActiveMessages& active_messages_;
  SendPosts& sends_;
  ReceivePosts& receives_;
  MultipartPosts& multipart_;
  OneSided& one_sided_;
};

}  // namespace weft::core
