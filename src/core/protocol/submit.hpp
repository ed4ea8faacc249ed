// What every post does that may be refused.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/completion/immediate_completions.hpp"
#include "core/protocol/post_context.hpp"

namespace weft::core {

struct Submission {
  Operation operation;
  int peer;
  std::uint64_t tag;
  std::size_t size;
  bool waits_for_room;  // queued posts wait for room: this one stays behind them
  bool may_retry;       // as its options say
};

/// Attempts a post by attempt(caller), and reports the result to counters and trace. A refused post answers
/// retry or, where it may not, and in handlers, which cannot wait, is queued by enqueue(status).
template <class Attempt, class Enqueue>
[[gnu::always_inline]] inline Status submit(const PostContext& posts, const Submission& post, Caller caller,
                                            const Attempt& attempt, const Enqueue& enqueue) {
  caller.reserves_room = !posts.backlog.empty();
  const Status status = post.waits_for_room ? Status::retry(Reason::backlog) : attempt(caller);
  posts.observe(post.operation, post.peer, post.tag, post.size, status);
  if (!status.is_retry() || (post.may_retry && !SignalScope::is_inside())) [[likely]]
    return status;
  return enqueue(status);
}

}  // namespace weft::core
