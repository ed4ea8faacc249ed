#include "core/backlog/backlog.hpp"

namespace weft::core {

Backlog::Backlog(int ranks, std::uint32_t limit, std::uint32_t peer_limit)
    : limit_(limit),
      peer_limit_(peer_limit),
      free_(limit * 2),
      posts_(new PendingPost[std::size_t{limit} * 2]),
      peers_(new PeerQueue[static_cast<std::size_t>(ranks)]),
      ranks_(ranks) {
  for (std::uint32_t index = 0; index < limit * 2; ++index) posts_[index].index = index;
}

PendingPost* Backlog::take(int peer, bool from_handler) noexcept {
  PeerQueue& queue = peers_[static_cast<std::size_t>(peer)];
  if (!from_handler && queue.count.load(std::memory_order_relaxed) >= peer_limit_) return nullptr;
  const std::uint32_t index = free_.take();
  if (index == concurrent::IndexPool<>::kNone) return nullptr;
  queue.count.fetch_add(1, std::memory_order_relaxed);
  PendingPost& post = posts_[index];
  post.peer = peer;
  return &post;
}

void Backlog::add(PendingPost& post) noexcept {
  count_.fetch_add(1, std::memory_order_relaxed);
  intake_.put(post);
}

std::size_t Backlog::work(PostRetry& retry, bool exclusive) noexcept {
  for (PendingPost* post = intake_.take_all(); post != nullptr;) {
    PendingPost* next = post->next;
    post->next = nullptr;
    PeerQueue& queue = peers_[static_cast<std::size_t>(post->peer)];
    (queue.first == nullptr ? queue.first : queue.last->next) = post;
    queue.last = post;
    post = next;
  }
  std::size_t accepted = 0;
  for (int peer = 0; peer < ranks_; ++peer) {
    PeerQueue& queue = peers_[static_cast<std::size_t>(peer)];
    if (queue.first == nullptr) continue;
    Status refusal = Status::done();
    while (queue.first != nullptr && !(refusal = retry.post_again(*queue.first, exclusive)).is_retry()) {
      PendingPost& post = *queue.first;
      queue.first = post.next;
      queue.count.fetch_sub(1, std::memory_order_relaxed);
      post.packet.reset();
      free_.put(post.index);
      count_.fetch_sub(1, std::memory_order_relaxed);
      ++accepted;
    }
    queue.waits_for_room.store(refusal.is_retry() && refusal.reason() == Reason::no_slot,
                               std::memory_order_relaxed);
  }
  return accepted;
}

}  // namespace weft::core
