#include "core/backlog/backlog.hpp"

namespace weft::core {

Backlog::Backlog(int ranks, std::uint32_t limit, std::uint32_t peer_limit)
    : limit_(limit),
      peer_limit_(peer_limit),
      free_(limit * 3),
      posts_(new PendingPost[std::size_t{limit} * 3]),
      peers_(new PeerQueue[static_cast<std::size_t>(ranks)]),
      ranks_(ranks) {
  for (std::uint32_t index = 0; index < limit * 3; ++index) posts_[index].index = index;
}

PendingPost* Backlog::take(int peer, bool from_handler) noexcept {
  PeerQueue& queue = peers_[static_cast<std::size_t>(peer)];
  if (!from_handler &&
      (queue.count.load(std::memory_order_relaxed) >= peer_limit_ ||
       count_.load(std::memory_order_relaxed) - answers_.load(std::memory_order_relaxed) >= limit_))
    return nullptr;
  const std::uint32_t index = free_.take();
  if (index == concurrent::IndexPool<>::kNone) return nullptr;
  queue.count.fetch_add(1, std::memory_order_relaxed);
  PendingPost& post = posts_[index];
  post.peer = peer;
  post.from_handler = from_handler;
  post.in_order = false;
  post.operation = Operation::active_message_sent;
  return &post;
}

void Backlog::add(PendingPost& post) noexcept {
  count_.fetch_add(1, std::memory_order_relaxed);
  if (post.from_handler) answers_.fetch_add(1, std::memory_order_relaxed);
  intake_.put(post);
}

Status Backlog::retry_list(List& list, PeerQueue& queue, PostRetry& retry, bool exclusive,
                           std::size_t& accepted) noexcept {
  while (list.first != nullptr) {
    PendingPost& post = *list.first;
    const Status status = retry.post_again(post, exclusive);
    if (status.is_retry()) {
      list.refusal = status.reason();
      return status;
    }
    list.first = post.next;
    post.packet.reset();
    queue.count.fetch_sub(1, std::memory_order_relaxed);
    count_.fetch_sub(1, std::memory_order_relaxed);
    if (post.from_handler) answers_.fetch_sub(1, std::memory_order_relaxed);
    free_.put(post.index);
    ++accepted;
  }
  return Status::done();
}

void Backlog::sort_intake() noexcept {
  for (PendingPost* post = intake_.take_all(); post != nullptr;) {
    PendingPost* next = post->next;
    post->next = nullptr;
    PeerQueue& queue = peers_[static_cast<std::size_t>(post->peer)];
    const bool is_ordered_receive = post->in_order && post->operation == Operation::receive;
    List& list = is_ordered_receive                      ? queue.receives
                 : post->from_handler && !post->in_order ? queue.answers
                                                         : queue.requests;
    (list.first == nullptr ? list.first : list.last->next) = post;
    list.last = post;
    post = next;
  }
}

std::size_t Backlog::work(PostRetry& retry, bool exclusive) noexcept {
  sort_intake();
  std::size_t accepted = 0;
  for (int peer = 0; peer < ranks_; ++peer) {
    PeerQueue& queue = peers_[static_cast<std::size_t>(peer)];
    if (queue.receives.first != nullptr)
      static_cast<void>(retry_list(queue.receives, queue, retry, exclusive, accepted));
    if (queue.answers.first == nullptr && queue.requests.first == nullptr) continue;
    Status refusal = retry_list(queue.answers, queue, retry, exclusive, accepted);
    // Requests stay behind answers that wait for room, and not behind those that wait for something else.
    if (!refusal.is_retry() || refusal.reason() != Reason::no_slot)
      refusal = retry_list(queue.requests, queue, retry, exclusive, accepted);
    queue.waits_for_room.store(refusal.is_retry() && refusal.reason() == Reason::no_slot,
                               std::memory_order_relaxed);
  }
  return accepted;
}

}  // namespace weft::core
