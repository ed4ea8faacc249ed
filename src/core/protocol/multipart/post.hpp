// Posts of multipart active messages.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/protocol/active_message/active_messages.hpp"
#include "core/protocol/multipart/multipart.hpp"
#include "core/protocol/post_context.hpp"

#include <span>

namespace weft::core {

class MultipartPosts {
 public:
  MultipartPosts(const PostContext& posts, MultipartMessages& messages,
                 ActiveMessages& active_messages) noexcept
      : posts_(posts), messages_(messages), active_messages_(active_messages) {}

  /// Posts a message of a head and parts; without parts it is an active message. Throws weft::Error for
  /// invalid arguments.
  Status post(int peer, RemoteCompletion remote, Bytes head, std::span<const Bytes> parts,
              const ActiveMessageOptions& options, Caller caller);
  /// Posts a message from the backlog again.
  Status post_again(PendingPost& post, Caller caller) noexcept;

 private:
  Status attempt(const MultipartMessages::Outbound& outbound, Caller caller) noexcept;
  Status enqueue(Status refused, const MultipartMessages::Outbound& outbound) noexcept;

  const PostContext posts_;
  MultipartMessages& messages_;
  ActiveMessages& active_messages_;
};

}  // namespace weft::core
