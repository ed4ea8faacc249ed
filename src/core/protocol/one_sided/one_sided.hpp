// Puts, gets and atomic operations of one device.
//
// An access goes through the network where that reaches the region by itself. Otherwise the access is cut
// into pieces: a put sends each as a self-contained message (put) that the target checks, copies and answers
// (access_ended); a get asks for each (get) and the target answers with the bytes (get_data). The target
// stores nothing but answers that the network has not accepted yet, and pieces may overtake each other.
//
// An atomic operation is carried out by the initiator's processor where the region is mapped, else by the
// owner's: a message (atomic) asks for it, and the answer carries the old value (atomic_ended). Which of the
// two depends on the region alone, and both are operations of processors on the same memory.
//
// Sources: one_sided.cpp (from a post to its completion), post.cpp, pieces.cpp (the initiator's messages),
// target.cpp, atomic.cpp (both sides of atomic operations), expiry.cpp (deadlines), report.cpp (for
// explanations); vectored.hpp (several pieces under one post) lies on top, accesses.hpp above the device.
#pragma once

#include "concurrent/high_water.hpp"
#include "concurrent/index_pool.hpp"
#include "core/backlog/backlog.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/protocol/caller.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/one_sided/atomic_update.hpp"
#include "core/protocol/one_sided/flush.hpp"
#include "core/protocol/wire.hpp"
#include "core/protocol/work_list.hpp"

#include <weft/options.hpp>
#include <weft/remote_region.hpp>

#include <atomic>
#include <memory>
#include <string_view>

namespace weft::core {

class Orphans;

class OneSided {
 public:
  explicit OneSided(const Context& context);
  ~OneSided();
  OneSided(const OneSided&) = delete;
  OneSided& operator=(const OneSided&) = delete;

  /// One posted access.
  struct Access {
    Operation operation;  // put, get or atomic
    int peer;
    RemoteAddress where;
    std::byte* data;  // only read by a put; for an atomic operation: where the old value goes, or null
    std::size_t size;
    AccessOptions options;
    AtomicUpdate update{};
  };
  /// The name of the access's post: "post_fetch_atomic". That of the call that waits is the same without
  /// kPost.
  [[nodiscard]] static std::string_view name_of_post(const Access& access) noexcept;
  static constexpr std::string_view kPost = "post_";
  /// Throws weft::Error for invalid arguments.
  void check(const Access& access) const;
  /// Posts an access. A refused access is queued in the backlog when the options ask for that, or when
  /// a handler posts. Throws what check() throws.
  Status post(const Access& access, Backlog& backlog, Caller caller);
  /// Posts an access from the backlog again.
  Status post_again(PendingPost& post, Caller caller) noexcept;

  /// Counts and reports a failed access that has no completion object.
  void count_failure(Operation operation, const RemoteAddress& where, std::size_t size,
                     Outcome outcome) noexcept;

  /// Returns true when an access may signal the object. Any thread; cheap while no access is in progress.
  [[nodiscard]] bool may_name(const Completion& object) const noexcept;
  /// The object is being destroyed: accesses that name it signal `instead`. Any thread.
  void forget_object(const Completion& object, Orphans& instead) noexcept;
  /// The counts of accesses in progress, for flushes.
  [[nodiscard]] Flushes& flushes() noexcept { return flushes_; }

  /// Handles what the network reports of accesses that were posted.
  void access_ended(std::uint64_t token, Outcome outcome) noexcept;
  void immediate_arrived(std::uint64_t immediate) noexcept;
  /// Arrivals of the channels put to atomic_signal. Returns false when the message cannot be accepted now.
  bool deliver(Channel channel, std::uint64_t word, Message& arrival, network::Sink& sink) noexcept;

  /// Continues the accesses in progress. One thread at a time. Returns the number of steps that made
  /// progress.
  std::size_t step(bool exclusive) noexcept;
  /// Returns true when there are operations that step() has to continue.
  [[nodiscard]] bool has_work() const noexcept { return working_.load(std::memory_order_relaxed) != 0; }
  /// Returns true when end_lost_operations() might have work.
  [[nodiscard]] bool awaits_peers() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
  /// The number of operations of this rank that have not ended, plus answers to peers.
  [[nodiscard]] std::uint32_t outstanding() const noexcept {
    return outstanding_.load(std::memory_order_relaxed);
  }
  /// Lists the operations of this rank that have not ended, for an explanation. Any thread. In report.cpp.
  void describe(PendingList& list) const noexcept;
  /// Tells which accesses' deadlines have passed: by their completion object, or as pieces of a vectored
  /// access.
  struct Due {
    const Deadlines& deadlines;
    const Completion* piece_ended;  // what such pieces signal, with their record as user data
    bool (*is_piece_due)(const void* vectored, const void* user_data) noexcept;
    const void* vectored;
  };
  /// Ends the accesses that are due: pieces not sent yet are dropped, and answers are not awaited. An access
  /// that the network carries out ends when the network reports it. Only for the thread that may call step().
  void expire(const Due& due) noexcept;
  /// Ends the operations whose peer has left or failed. `is_over`: see Rendezvous::end_lost_operations().
  void end_lost_operations(const std::atomic<bool>* is_over) noexcept;

 private:
  struct Request;  // an access of this rank
  struct Answer;   // an answer to an access of a peer
  /// How an attempt to post is made.
  struct Origin {
    PendingPost* pending;  // its copy of the source moves to the request; null: the source is the user's
    Caller caller;
    bool waits_for_room;  // messages have to queue behind the backlog
    std::uint8_t epoch;   // epoch of the flushes
  };

  // post.cpp
  [[nodiscard]] static Reason reason_of(network::AccessResult result) noexcept;
  Status attempt(const Access& access, const Origin& origin) noexcept;
  Status attempt_directly(Request& request, const Origin& origin, bool& is_reached) noexcept;
  Status attempt_in_place(Request& request, std::byte* place) noexcept;
  Status attempt_by_messages(Request& request, const Origin& origin) noexcept;
  Status give_up(Request& request, const Origin& origin, Reason reason) noexcept;
  Status enqueue(const Access& access, Backlog& backlog, const Origin& origin) noexcept;
  // one_sided.cpp
  [[nodiscard]] Request* take(const Access& access, const Origin& origin) noexcept;
  void count_success(const Request& request) noexcept;
  Status finish(Request& request, Outcome outcome, bool in_post) noexcept;
  void free(Request& request) noexcept;
  [[nodiscard]] bool send_signal(Request& request, Caller caller) noexcept;
  [[nodiscard]] Request* claim(RequestName name, int peer, Operation operation) noexcept;
  void settle(Request& request, Outcome outcome, bool counts) noexcept;
  void signal(std::uint64_t word, Operation operation, int peer) noexcept;
  // expiry.cpp
  [[nodiscard]] static bool is_due(const Request& request, const Due& due) noexcept;
  void unknown(const Message& arrival, const char* what, std::uint64_t word, network::Sink& sink) noexcept;
  // pieces.cpp
  [[nodiscard]] AccessPiece next_piece(const Request& request, std::uint64_t size) const noexcept;
  Status send_piece(Request& request, Caller caller, bool& has_left) noexcept;
  template <class Send>
  static Status send_to_target(Request& request, Channel channel, bool carries_signal, Caller caller,
                               bool& has_left, const Send& send) noexcept;
  Status send_put(Request& request, std::uint64_t size, Caller caller, bool& has_left) noexcept;
  Status send_get(Request& request, std::uint64_t size, Caller caller, bool& has_left) noexcept;
  Step advance(Request& request, bool exclusive) noexcept;
  void on_access_ended(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  void on_get_data(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  // atomic.cpp
  Status attempt_located(Request& request, const Origin& origin, bool& is_reached) noexcept;
  Status send_atomic(Request& request, Caller caller, bool& has_left) noexcept;
  bool on_atomic(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  void on_atomic_ended(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  // target.cpp
  [[nodiscard]] std::byte* find(const AccessPiece& piece) const noexcept;
  [[nodiscard]] bool store(const AccessPiece& piece, std::byte* place, const std::byte* from) const noexcept;
  [[nodiscard]] bool load(const AccessPiece& piece, std::byte* to, const std::byte* place) const noexcept;
  [[nodiscard]] Answer* take_answer(bool urgent) noexcept;
  bool on_put(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  bool on_get(const Message& arrival, network::Sink& sink) noexcept;
  Step give(Answer& answer, bool exclusive) noexcept;
  network::SendResult give_data(const AccessPiece& wanted, const network::Outgoing& outgoing,
                                bool exclusive) noexcept;
  void give_or_keep(Answer& answer) noexcept;
  void free(Answer& answer) noexcept;

  const Context& context_;
  const std::size_t inline_limit_;  // largest message that is sent without a packet
  const std::uint64_t put_piece_;   // size of a piece that is sent in a packet, in bytes
  const std::uint64_t get_piece_;
  concurrent::IndexPool<> free_requests_;
  concurrent::HighWater used_requests_;
  concurrent::IndexPool<> free_answers_;
  std::unique_ptr<Request[]> requests_;
  std::unique_ptr<Answer[]> answers_;
  Flushes flushes_;
  alignas(64) std::atomic<std::uint32_t> working_{0};
  std::atomic<std::uint32_t> outstanding_{0};
  std::atomic<std::uint32_t> waiting_{0};  // requests that are carried out by messages
  std::atomic<std::uint32_t> answers_in_use_{0};
  std::atomic<bool> has_expired_{false};  // some accesses have expired, and answers to them may still arrive
  WorkList<Request> advancing_;
  WorkList<Answer> giving_;
};

}  // namespace weft::core
