// Operations that the network refused and that are kept for retry, per peer.
#pragma once

#include "concurrent/index_pool.hpp"
#include "concurrent/intake.hpp"
#include "core/diagnosis/pending.hpp"

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
  std::unique_ptr<Bytes[]> parts{};  // unless null, the payload: these, instead of the post's data
  std::size_t parts_count = 0;
};
struct PendingReceive {
  int source;
  std::uint64_t tag;
  std::span<std::byte> buffer;
  ReceiveOptions options;
};
struct PendingAccess {
  RemoteAddress where;
  AccessOptions options;
  std::uint8_t flush_epoch;     // in which OneSided counts it
  detail::AtomicUpdate update;  // of an atomic operation
};

struct PendingBodies {  // its head is the post's data
  std::unique_ptr<Bytes[]> bodies;
  std::size_t count;
  std::size_t size;  // of all of them
};

/// One refused post. The payload is borrowed from the poster, copied here, or in a packet.
struct PendingPost {
  static constexpr std::size_t kCopied = 48;
  PendingPost* next = nullptr;
  std::uint32_t index = 0;
  int peer = 0;
  bool from_handler = false;
  bool in_order = false;  // with other such posts, also where some are of handlers
  MessageClass message_class = MessageClass::normal;
  Operation operation = Operation::active_message_sent;
  RemoteCompletion remote;       // of an active message
  ActiveMessageOptions options;  // likewise
  std::variant<std::monostate, PendingSend, PendingReceive, PendingAccess, PendingBodies> other;
  const std::byte* data = nullptr;
  std::size_t size = 0;
  Packet packet;
  std::byte copy[kCopied];
};

/// Posts again what was refused.
class PostRetry {
 public:
  /// Tries once more; retry leaves the post in the backlog.
  virtual Status post_again(PendingPost& post, bool exclusive) noexcept = 0;

 protected:
  ~PostRetry() = default;
};

/// Bounded in total and per peer; one peer's refusals do not delay another's, nor those of one message class
/// another's. Any thread adds, one thread at a time works.
class Backlog {
 public:
  /// `limit`: posts that are kept; as many of handlers come on top before over_limit() begins to hold, and as
  /// many again fit, so that handlers which run already can still add. `peer_limit`: posts to one peer, but
  /// for those of handlers, which cannot wait. Both are of the class normal; of each other one a quarter of
  /// that many are kept besides.
  Backlog(int ranks, std::uint32_t limit, std::uint32_t peer_limit);

  /// A record to fill and then add(), or nullptr when the backlog is full in total or for this peer.
  [[nodiscard]] PendingPost* take(int peer, bool from_handler,
                                  MessageClass message_class = MessageClass::normal) noexcept;
  void add(PendingPost& post) noexcept;

  /// Retries the posts of every peer, class by class, those of handlers first, each kind in order until one
  /// is refused. Those in order are a kind of their own, whatever their class. Returns how many were
  /// accepted.
  std::size_t work(PostRetry& retry, bool exclusive) noexcept;

  /// Takes out the posts for which which(post) holds and calls end(post) for each, before its record is free.
  /// By whoever may work(). Returns how many.
  template <class Which, class End>
  std::size_t take_out(const Which& which, const End& end) noexcept;

  /// Tells what a receive with this buffer is to be shown as, where that is another one than it looks like.
  using ShowReceive = void (*)(MutableBytes buffer, PendingOperation& receive) noexcept;
  /// Lists what waits, for an explanation. By whoever may work(). In backlog_report.cpp.
  void describe(PendingList& list, ShowReceive show_receive) noexcept;

  /// Whether posts of the class to the peer wait for room. New ones that may wait stay behind them: otherwise
  /// requests of a program would take all room from the answers of its handlers, until neither rank takes any
  /// more.
  [[nodiscard]] bool waits_for_room(int peer,
                                    MessageClass message_class = MessageClass::normal) const noexcept {
    return peers_[static_cast<std::size_t>(peer)]
        .of(message_class)
        .waits_for_room.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }
  /// Whether handlers should not run, because what they post has nowhere to go.
  [[nodiscard]] bool over_limit() const noexcept { return answers_.load(std::memory_order_relaxed) > limit_; }
  /// What over_limit() compares: it holds while the first is larger than the second.
  [[nodiscard]] const std::atomic<std::uint32_t>& posts_of_handlers() const noexcept { return answers_; }
  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
  /// Whether not even answers should be taken any more that make handlers post.
  [[nodiscard]] bool almost_full() const noexcept {
    return answers_.load(std::memory_order_relaxed) > limit_ + limit_ / 2;
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// Posts that were ever kept, and most of them at a time.
  [[nodiscard]] std::uint64_t added() const noexcept { return added_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t highest() const noexcept { return highest_.load(std::memory_order_relaxed); }

 private:
  struct List {  // owned by work()
    PendingPost* first = nullptr;
    PendingPost* last = nullptr;
    Reason refusal{};  // of the first, when it was tried last
  };
  static constexpr std::size_t kClasses = 3;
  struct ClassQueue {
    std::atomic<std::uint32_t> count{0};
    std::atomic<bool> waits_for_room{false};
    List answers;   // posts of handlers that need no order
    List requests;  // others
  };
  struct PeerQueue {
    std::array<ClassQueue, kClasses> classes;  // by MessageClass
    List sends;                                // in order, of all classes
    List receives;  // likewise; by themselves, because sends may wait for the very messages that they take

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
  void sort_intake() noexcept;
  void release(PendingPost& post, PeerQueue& queue) noexcept;
  Status retry_list(List& list, PeerQueue& queue, PostRetry& retry, bool exclusive,
                    std::size_t& accepted) noexcept;

  const std::uint32_t limit_;
  const std::uint32_t peer_limit_;
  const std::uint32_t records_;
  concurrent::IndexPool<> free_;
  std::unique_ptr<PendingPost[]> posts_;
  std::unique_ptr<PeerQueue[]> peers_;
  const int ranks_;
  concurrent::Intake<PendingPost> intake_;
  alignas(64) std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> answers_{0};                        // those of handlers among them
  std::array<std::atomic<std::uint32_t>, kClasses> requests_{};  // the others, by MessageClass
  std::atomic<std::uint64_t> added_{0};
  std::atomic<std::uint32_t> highest_{0};
};

template <class Which, class End>
std::size_t Backlog::take_out(const Which& which, const End& end) noexcept {
  sort_intake();
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
      // Nothing may be left for work() to find that there is room.
      if (each.answers.first == nullptr && each.requests.first == nullptr)
        each.waits_for_room.store(false, std::memory_order_relaxed);
    }
  }
  return count;
}

}  // namespace weft::core
