// Operations that the network refused and that are queued for retry, per peer.
#pragma once

#include "concurrent/mpsc_list.hpp"
#include "core/backlog/caller.hpp"
#include "core/diagnosis/pending.hpp"
#include "core/memory/indexed_records.hpp"

#include <weft/detail/atomic_update.hpp>
#include <weft/message.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/remote_region.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <utility>
#include <variant>

namespace weft::core {

struct PendingSend {
  std::uint64_t tag;
  SendOptions options;
  std::unique_ptr<Bytes[]> parts{};  // unless null, the payload, in place of the post's data
  std::size_t parts_count = 0;
};
struct PendingReceive {
  int source;
  std::uint64_t tag;
  std::span<std::byte> buffer;
  ReceiveOptions options;
  bool is_cancelled = false;  // ends, instead of being posted again
};
struct PendingAccess {
  RemoteAddress where;
  AccessOptions options;
  std::uint8_t flush_epoch;     // the epoch in which Flushes counts it
  detail::AtomicUpdate update;  // for an atomic operation
};

struct PendingParts {  // the head is the post's data
  std::unique_ptr<Bytes[]> parts;
  std::size_t count;
  std::size_t size;  // sum of their sizes
};

/// One refused post. The payload is borrowed from the poster, copied here, or in a packet.
struct PendingPost {
  static constexpr std::size_t kCopied = 48;
  static constexpr std::uint32_t kOwnMemory = ~std::uint32_t{0};  // as an index: no record of the backlog
  PendingPost* next = nullptr;
  std::uint32_t index = 0;
  int peer = 0;
  bool from_handler = false;
  bool in_order = false;  // ordered with other such posts, even where some of them are posts of handlers
  MessageClass message_class = MessageClass::normal;
  Operation operation = Operation::active_message_sent;
  RemoteCompletion remote;       // for an active message
  ActiveMessageOptions options;  // for an active message
  std::variant<std::monostate, PendingSend, PendingReceive, PendingAccess, PendingParts> other;
  const std::byte* data = nullptr;
  std::size_t size = 0;
  Packet packet;
  std::unique_ptr<std::byte[]> long_copy{};
  std::byte copy[kCopied];
};

/// The completion object that a queued post signals; may be null.
[[nodiscard]] Completion*& completion_of(PendingPost& post) noexcept;

/// Posts refused operations again.
class PostRetry {
 public:
  /// Retries a post; when it returns retry, the post stays in the backlog.
  virtual Status post_again(PendingPost& post, Caller caller) noexcept = 0;

 protected:
  ~PostRetry() = default;
};

/// Bounded in total and per peer; refusals of one peer do not delay another's posts, nor those of one message
/// class another's. Any thread adds, one thread at a time works.
class Backlog {
 public:
  /// `limit`: number of queued posts; as many posts of handlers come on top before over_limit() becomes true,
  /// and as many again fit, so that handlers that run already can still add. `peer_limit`: number of posts to
  /// one peer, except posts of handlers, which cannot wait. Both are for the class normal; each other class
  /// has a quarter of that in addition. `grows`: posts that exceed the limits are queued as well, in memory
  /// of their own, and over_limit() is never true. `device_number`: the number of its device in the process.
  Backlog(int ranks, std::uint32_t limit, std::uint32_t peer_limit, bool grows = false,
          std::uint32_t device_number = 0);
  /// Posts that are still queued are dropped.
  ~Backlog();

  /// Returns a record to fill and then add(), or nullptr when the backlog is full in total or for this peer,
  /// or, where it grows, when there is no memory.
  [[nodiscard]] PendingPost* take(int peer, bool from_handler,
                                  MessageClass message_class = MessageClass::normal) noexcept;
  void add(PendingPost& post) noexcept;

  /// Retries the posts of every peer, class by class, those of handlers first, each kind in order until one
  /// is refused. Ordered posts are a kind of their own, whatever their class. Returns the number accepted.
  std::size_t work(PostRetry& retry, Caller caller) noexcept;

  /// Takes out the posts for which which(post) returns true and calls end(post) for each, before its record
  /// is released. Only for the thread that may call work(). Returns the number of posts.
  template <class Which, class End>
  std::size_t take_out(const Which& which, const End& end) noexcept;

  /// Calls visit(post) for every post. Only for the thread that may call work(), also from inside a retry.
  template <class Visit>
  void for_each(const Visit& visit) noexcept;

  /// Replaces the data of a receive in an explanation where its buffer stands for another one.
  using ShowReceive = void (*)(MutableBytes buffer, PendingOperation& receive) noexcept;
  /// Lists the queued posts, for an explanation. Only for the thread that may call work(). In
  /// backlog_report.cpp.
  void describe(PendingList& list, ShowReceive show_receive) noexcept;

  /// Returns true when posts of the class to the peer wait for room. New posts that may wait stay behind
  /// them: otherwise requests of a program would take all room from the answers of its handlers, until
  /// neither rank accepts any more.
  [[nodiscard]] bool waits_for_room(int peer,
                                    MessageClass message_class = MessageClass::normal) const noexcept {
    return peers_[static_cast<std::size_t>(peer)]
        .of(message_class)
        .waits_for_room.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool grows() const noexcept { return grows_; }
  [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }
  /// Returns true when handlers should not run, because their posts have nowhere to go.
  [[nodiscard]] bool over_limit() const noexcept { return answers_.load(std::memory_order_relaxed) > limit_; }
  /// The two numbers that over_limit() compares: it is true while the first is larger than the second.
  [[nodiscard]] const std::atomic<std::uint32_t>& posts_of_handlers() const noexcept { return answers_; }
  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
  /// Returns true when not even answers that make handlers post should be accepted any more.
  [[nodiscard]] bool almost_full() const noexcept {
    return answers_.load(std::memory_order_relaxed) > limit_ + limit_ / 2;
  }
  /// Returns true when no messages, vectored ones included, are queued. Then their buffers are the posters'
  /// again.
  [[nodiscard]] bool has_no_messages() const noexcept {
    return messages_.load(std::memory_order_acquire) == 0;
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// The number of posts that were ever queued, and the largest number at a time.
  [[nodiscard]] std::uint64_t added() const noexcept { return added_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t highest() const noexcept { return highest_.load(std::memory_order_relaxed); }

 private:
  struct List {  // owned by work()
    PendingPost* first = nullptr;
    PendingPost* last = nullptr;
    Reason refusal{};  // reason why the first was last refused
  };
  static constexpr std::size_t kClasses = 3;
  struct ClassQueue {
    std::atomic<std::uint32_t> count{0};
    std::atomic<bool> waits_for_room{false};
    List answers;   // posts of handlers that are not ordered
    List requests;  // all other posts that are not ordered
  };
  struct PeerQueue {
    std::array<ClassQueue, kClasses> classes;  // by MessageClass
    List sends;                                // ordered sends, of all classes
    // Ordered receives, of all classes; separate, because sends may wait for the very messages that they
    // take.
    List receives;

    [[nodiscard]] ClassQueue& of(MessageClass message_class) noexcept {
      return classes[static_cast<std::size_t>(message_class)];
    }
    [[nodiscard]] const ClassQueue& of(MessageClass message_class) const noexcept {
      return classes[static_cast<std::size_t>(message_class)];
    }
  };

  [[nodiscard]] static std::uint32_t share(std::uint32_t limit, MessageClass message_class) noexcept {
    return message_class == MessageClass::normal ? limit : limit / 4 + 1;
  }
  [[nodiscard]] PendingPost* take_record(int peer, bool from_handler, MessageClass message_class) noexcept;
  void sort_list() noexcept;
  void note_turn(std::size_t accepted) noexcept;
  [[nodiscard]] bool move_out_of_packet() noexcept;
  void release(PendingPost& post, PeerQueue& queue) noexcept;
  Status retry_list(List& list, PeerQueue& queue, PostRetry& retry, Caller caller,
                    std::size_t& accepted) noexcept;

  const std::uint32_t limit_;
  const std::uint32_t peer_limit_;
  const bool grows_;
  const std::uint32_t device_number_;
  IndexedRecords<PendingPost> posts_;
  std::unique_ptr<PeerQueue[]> peers_;
  const int ranks_;
  concurrent::MpscList<PendingPost> list_;
  alignas(64) std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> messages_{0};  // number of sends and active messages among them
  std::atomic<std::uint32_t> answers_{0};   // number of posts of handlers among them
  std::array<std::atomic<std::uint32_t>, kClasses> requests_{};  // number of all other posts, by MessageClass
  std::atomic<std::uint64_t> added_{0};
  std::atomic<std::uint32_t> highest_{0};
  // Used by work():
  bool lacks_packet_ = false;        // in this turn a post was refused for want of a packet
  std::uint32_t turns_without_ = 0;  // in a row, with such a refusal and nothing accepted
};

template <class Visit>
void Backlog::for_each(const Visit& visit) noexcept {
  sort_list();
  const auto visit_all = [&](const List& list) {
    for (PendingPost* post = list.first; post != nullptr; post = post->next) visit(*post);
  };
  for (int peer = 0; peer < ranks_; ++peer) {
    const PeerQueue& queue = peers_[static_cast<std::size_t>(peer)];
    visit_all(queue.sends);
    visit_all(queue.receives);
    for (const ClassQueue& each : queue.classes) {
      visit_all(each.answers);
      visit_all(each.requests);
    }
  }
}

template <class Which, class End>
std::size_t Backlog::take_out(const Which& which, const End& end) noexcept {
  sort_list();
  std::size_t count = 0;
  for (int peer = 0; peer < ranks_; ++peer) {
    PeerQueue& queue = peers_[static_cast<std::size_t>(peer)];
    const auto take_from = [&](List& list) {
      PendingPost* before = nullptr;
      for (PendingPost* post = list.first; post != nullptr;) {
        PendingPost* const next = post->next;
        if (which(std::as_const(*post))) {
          (before == nullptr ? list.first : before->next) = next;
          if (list.last == post) list.last = before;
          end(*post);
          release(*post, queue);
          ++count;
        } else {
          before = post;
        }
        post = next;
      }
    };
    take_from(queue.sends);
    take_from(queue.receives);
    for (ClassQueue& each : queue.classes) {
      take_from(each.answers);
      take_from(each.requests);
      // Without posts, work() would not find that there is room.
      if (each.answers.first == nullptr && each.requests.first == nullptr)
        each.waits_for_room.store(false, std::memory_order_relaxed);
    }
  }
  return count;
}

}  // namespace weft::core
