#include "core/backlog/backlog.hpp"

#include <weft/completion/completion.hpp>

#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace weft::core {

namespace {

[[nodiscard]] bool is_message(const PendingPost& post) noexcept {
  return post.operation == Operation::active_message_sent || post.operation == Operation::send ||
         post.operation == Operation::multipart_message;
}

// Where the backlog grows, posts of handlers have somewhere to go however many there are: handlers always
// run. Otherwise ranks whose handlers send to each other could all stop, each until another one accepts
// something.
constexpr std::uint32_t kNoLimit = ~std::uint32_t{0} / 4;

// So many turns may pass until packets that are under way come back.
constexpr std::uint32_t kTurnsWithoutPacket = 64;

constexpr std::array kInTurn{MessageClass::control, MessageClass::normal, MessageClass::bulk};

}  // namespace

Backlog::Backlog(int ranks, std::uint32_t limit, std::uint32_t peer_limit, bool grows,
                 std::uint32_t device_number)
    : limit_(grows ? kNoLimit : limit),
      peer_limit_(peer_limit),
      grows_(grows),
      device_number_(device_number),
      posts_(limit * 3 + 2 * share(limit, MessageClass::bulk), "refused posts"),
      peers_(new PeerQueue[static_cast<std::size_t>(ranks)]),
      ranks_(ranks) {}

Backlog::~Backlog() {
  if (grows_ && !empty()) take_out([](const PendingPost&) { return true; }, [](PendingPost&) {});
}

PendingPost* Backlog::take(int peer, bool from_handler, MessageClass message_class) noexcept {
  PendingPost* post = take_record(peer, from_handler, message_class);
  if (post == nullptr && grows_ && (post = new (std::nothrow) PendingPost) != nullptr)
    post->index = PendingPost::kOwnMemory;
  if (post == nullptr) return nullptr;
  peers_[static_cast<std::size_t>(peer)].of(message_class).count.fetch_add(1, std::memory_order_relaxed);
  post->peer = peer;
  post->from_handler = from_handler;
  post->in_order = false;
  post->message_class = message_class;
  post->operation = Operation::active_message_sent;
  return post;
}

/// Returns a free record, if the limits allow it.
PendingPost* Backlog::take_record(int peer, bool from_handler, MessageClass message_class) noexcept {
  ClassQueue& queue = peers_[static_cast<std::size_t>(peer)].of(message_class);
  const auto requests_of = [&](MessageClass each) {
    return requests_[static_cast<std::size_t>(each)].load(std::memory_order_relaxed);
  };
  // Posts of handlers use none of the records of the other classes.
  if (from_handler
          ? answers_.load(std::memory_order_relaxed) + requests_of(MessageClass::normal) >= 3 * limit_
          : queue.count.load(std::memory_order_relaxed) >= share(peer_limit_, message_class) ||
                requests_of(message_class) >= share(limit_, message_class))
    return nullptr;
  return posts_.take();
}

Completion*& completion_of(PendingPost& post) noexcept {
  // A record may still hold the data of an earlier post of another kind.
  if (post.operation == Operation::send) {
    if (auto* send = std::get_if<PendingSend>(&post.other)) return send->options.completion;
  } else if (post.operation == Operation::receive) {
    if (auto* receive = std::get_if<PendingReceive>(&post.other)) return receive->options.completion;
  } else if (auto* access = std::get_if<PendingAccess>(&post.other);
             access != nullptr && (post.operation == Operation::put || post.operation == Operation::get ||
                                   post.operation == Operation::atomic)) {
    return access->options.completion;
  }
  return post.options.completion;
}

void Backlog::add(PendingPost& post) noexcept {
  detail::NamedCompletion::note_named_by(completion_of(post), device_number_);
  const std::uint32_t kept = count_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_message(post)) messages_.fetch_add(1, std::memory_order_relaxed);
  added_.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t highest = highest_.load(std::memory_order_relaxed);
  while (highest < kept && !highest_.compare_exchange_weak(highest, kept, std::memory_order_relaxed)) {
  }
  (post.from_handler ? answers_ : requests_[static_cast<std::size_t>(post.message_class)])
      .fetch_add(1, std::memory_order_relaxed);
  list_.put(post);
}

/// Releases a post that is in no list any more.
void Backlog::release(PendingPost& post, PeerQueue& queue) noexcept {
  post.packet.reset();
  post.long_copy.reset();
  queue.of(post.message_class).count.fetch_sub(1, std::memory_order_relaxed);
  count_.fetch_sub(1, std::memory_order_relaxed);
  // Pairs with the acquire in has_no_messages().
  if (is_message(post)) messages_.fetch_sub(1, std::memory_order_release);
  (post.from_handler ? answers_ : requests_[static_cast<std::size_t>(post.message_class)])
      .fetch_sub(1, std::memory_order_relaxed);
  if (post.index == PendingPost::kOwnMemory)
    delete &post;
  else
    posts_.put(post);
}

Status Backlog::retry_list(List& list, PeerQueue& queue, PostRetry& retry, Caller caller,
                           std::size_t& accepted) noexcept {
  while (list.first != nullptr) {
    PendingPost& post = *list.first;
    const Status status = retry.post_again(post, caller);
    if (status.is_retry()) {
      list.refusal = status.reason();
      lacks_packet_ |= status.reason() == Reason::no_packet;
      return status;
    }
    list.first = post.next;
    release(post, queue);
    ++accepted;
  }
  return Status::done();
}

void Backlog::sort_list() noexcept {
  for (PendingPost* post = list_.take_all(); post != nullptr;) {
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

/// Posts keep their payloads in packets, and may be all that does, while those before them need one to leave:
/// then one payload at a time moves into memory of its own.
void Backlog::note_turn(std::size_t accepted) noexcept {
  turns_without_ = lacks_packet_ && accepted == 0 ? turns_without_ + 1 : 0;
  lacks_packet_ = false;
  if (turns_without_ < kTurnsWithoutPacket) return;
  turns_without_ = 0;
  static_cast<void>(move_out_of_packet());
}

/// Returns false when no post has a packet, or there is no memory.
bool Backlog::move_out_of_packet() noexcept {
  PendingPost* last = nullptr;
  for_each([&](PendingPost& post) {
    if (post.packet) last = &post;
  });
  if (last == nullptr) return false;
  std::unique_ptr<std::byte[]> copy(new (std::nothrow) std::byte[last->size]);
  if (copy == nullptr) return false;
  std::memcpy(copy.get(), last->packet.data(), last->size);
  last->data = copy.get();
  last->long_copy = std::move(copy);
  last->packet.reset();
  return true;
}

std::size_t Backlog::work(PostRetry& retry, Caller caller) noexcept {
  sort_list();
  std::size_t accepted = 0;
  for (int peer = 0; peer < ranks_; ++peer) {
    PeerQueue& queue = peers_[static_cast<std::size_t>(peer)];
    if (queue.receives.first != nullptr)
      static_cast<void>(retry_list(queue.receives, queue, retry, caller, accepted));
    // Requests stay behind answers that wait for room, but not behind answers that wait for another reason.
    std::array<bool, kClasses> waits{};
    const auto retry_one = [&](List& list, std::size_t message_class) {
      if (list.first == nullptr || waits[message_class]) return;
      const Status refusal = retry_list(list, queue, retry, caller, accepted);
      // An ordered list has posts of all classes: the refused one counts.
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
  note_turn(accepted);
  return accepted;
}

}  // namespace weft::core
