#include "core/backlog/backlog.hpp"

namespace weft::core {

namespace {

constexpr std::array kInTurn{MessageClass::control, MessageClass::normal, MessageClass::bulk};

}  // namespace

Backlog::Backlog(int ranks, std::uint32_t limit, std::uint32_t peer_limit)
    : limit_(limit),
      peer_limit_(peer_limit),
      records_(limit * 3 + 2 * share(limit, MessageClass::bulk)),
      free_(records_),
      posts_(new PendingPost[records_]),
      peers_(new PeerQueue[static_cast<std::size_t>(ranks)]),
      ranks_(ranks) {
  for (std::uint32_t index = 0; index < records_; ++index) posts_[index].index = index;
}

PendingPost* Backlog::take(int peer, bool from_handler, MessageClass message_class) noexcept {
  ClassQueue& queue = peers_[static_cast<std::size_t>(peer)].of(message_class);
  const auto requests_of = [&](MessageClass each) {
    return requests_[static_cast<std::size_t>(each)].load(std::memory_order_relaxed);
  };
  // What handlers add leaves the records of the other classes alone.
  if (from_handler
          ? answers_.load(std::memory_order_relaxed) + requests_of(MessageClass::normal) >= 3 * limit_
          : queue.count.load(std::memory_order_relaxed) >= share(peer_limit_, message_class) ||
                requests_of(message_class) >= share(limit_, message_class))
    return nullptr;
  const std::uint32_t index = free_.take();
  if (index == concurrent::IndexPool<>::kNone) return nullptr;
  queue.count.fetch_add(1, std::memory_order_relaxed);
  PendingPost& post = posts_[index];
  post.peer = peer;
  post.from_handler = from_handler;
  post.in_order = false;
  post.message_class = message_class;
  post.operation = Operation::active_message_sent;
  return &post;
}

void Backlog::add(PendingPost& post) noexcept {
  const std::uint32_t kept = count_.fetch_add(1, std::memory_order_relaxed) + 1;
  added_.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t highest = highest_.load(std::memory_order_relaxed);
  while (highest < kept && !highest_.compare_exchange_weak(highest, kept, std::memory_order_relaxed)) {
  }
  (post.from_handler ? answers_ : requests_[static_cast<std::size_t>(post.message_class)])
      .fetch_add(1, std::memory_order_relaxed);
  intake_.put(post);
}

/// The post is in no list any more.
void Backlog::release(PendingPost& post, PeerQueue& queue) noexcept {
  post.packet.reset();
  queue.of(post.message_class).count.fetch_sub(1, std::memory_order_relaxed);
  count_.fetch_sub(1, std::memory_order_relaxed);
  (post.from_handler ? answers_ : requests_[static_cast<std::size_t>(post.message_class)])
      .fetch_sub(1, std::memory_order_relaxed);
  free_.put(post.index);
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
    release(post, queue);
    ++accepted;
  }
  return Status::done();
}

void Backlog::sort_intake() noexcept {
  for (PendingPost* post = intake_.take_all(); post != nullptr;) {
    PendingPost* next = post->next;
    post->next = nullptr;
    PeerQueue& queue = peers_[static_cast<std::size_t>(post->peer)];
    ClassQueue& of_class = queue.of(post->message_class);
    List& list = post->in_order && post->operation == Operation::receive ? queue.receives
                 : post->in_order                                        ? queue.sends
                 : post->from_handler                                    ? of_class.answers
                                                                         : of_class.requests;
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
    // Requests stay behind answers that wait for room, and not behind those that wait for something else.
    std::array<bool, kClasses> waits{};
    const auto retry_one = [&](List& list, std::size_t message_class) {
      if (list.first == nullptr || waits[message_class]) return;
      const Status refusal = retry_list(list, queue, retry, exclusive, accepted);
      // A list in order has posts of all classes: what counts is the one that was refused.
      if (refusal.is_retry() && refusal.reason() == Reason::no_slot)
        waits[static_cast<std::size_t>(list.first->message_class)] = true;
    };
    for (const MessageClass each : kInTurn) retry_one(queue.of(each).answers, static_cast<std::size_t>(each));
    if (queue.sends.first != nullptr)
      retry_one(queue.sends, static_cast<std::size_t>(queue.sends.first->message_class));
    for (const MessageClass each : kInTurn)
      retry_one(queue.of(each).requests, static_cast<std::size_t>(each));
    for (std::size_t each = 0; each < kClasses; ++each)
      if (std::atomic<bool>& known = queue.classes[each].waits_for_room;
          known.load(std::memory_order_relaxed) != waits[each])
        known.store(waits[each], std::memory_order_relaxed);
  }
  return accepted;
}

}  // namespace weft::core
