// Puts, gets and atomic operations of one device.
//
// The network is asked first. Where it does not reach the region by itself, the access is cut into pieces: a
// put sends each as a self-contained message (put) that the target checks, copies and answers (access_ended);
// a get asks for each (get) and the target answers with the bytes (get_data). The target keeps nothing but
// answers that the network has not taken yet, and pieces may overtake each other.
//
// An atomic operation is carried out by the initiator's processor where the region is mapped, else by the
// owner's: asked for by a message (atomic) and answered with the old value (atomic_ended). Which of the two
// depends on the region alone, and both are operations of processors on the same memory.
//
// Sources: one_sided.cpp (from a post to its end), one_sided_post.cpp, one_sided_pieces.cpp (the initiator's
// messages), one_sided_target.cpp, one_sided_atomic.cpp (both sides of atomic operations),
// one_sided_expiry.cpp (accesses that end in time).
#pragma once

#include "concurrent/index_pool.hpp"
#include "core/backlog/backlog.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/protocol/atomic_update.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/flushes.hpp"
#include "core/protocol/wire.hpp"
#include "core/protocol/work_list.hpp"

#include <weft/options.hpp>
#include <weft/remote_region.hpp>

#include <atomic>
#include <memory>

namespace weft::core {

class OneSided {
 public:
  explicit OneSided(const Context& context);
  ~OneSided();
  OneSided(const OneSided&) = delete;
  OneSided& operator=(const OneSided&) = delete;

  /// One access as it was posted.
  struct Access {
    Operation operation;  // put, get or atomic
    int peer;
    RemoteAddress where;
    std::byte* data;  // only read by a put; of an atomic operation: where the old value goes, or null
    std::size_t size;
    AccessOptions options;
    AtomicUpdate update{};
  };
  /// Throws weft::Error for arguments that name nothing.
  void check(const Access& access) const;
  /// Posts; what is refused is kept in the backlog when that is asked for, or when `in_handler`. Throws
  /// what check() throws.
  Status post(const Access& access, Backlog& backlog, bool in_handler, bool exclusive);
  /// Tries what the backlog keeps once more.
  Status post_again(PendingPost& post, bool exclusive) noexcept;

  /// Counts and reports an access whose end nobody is told.
  void count_failure(Operation operation, const RemoteAddress& where, std::size_t size,
                     Outcome outcome) noexcept;

  /// What a flush waits for.
  [[nodiscard]] Flushes& flushes() noexcept { return flushes_; }

  /// What the network says of accesses that were posted.
  void access_ended(std::uint64_t token, Outcome outcome) noexcept;
  void immediate_arrived(std::uint64_t immediate) noexcept;
  /// Arrivals of the channels put to atomic_signal. False: cannot be taken now.
  bool deliver(Channel channel, std::uint64_t word, Message& arrival, network::Sink& sink) noexcept;

  /// Continues what is under way. One thread at a time. Returns how many steps did something.
  std::size_t step(bool exclusive) noexcept;
  /// Operations that step() has to continue.
  [[nodiscard]] bool has_work() const noexcept { return working_.load(std::memory_order_relaxed) != 0; }
  /// Whether end_lost_operations() might have something to do.
  [[nodiscard]] bool awaits_peers() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
  /// Own operations that have not ended, and answers to peers.
  [[nodiscard]] std::uint32_t outstanding() const noexcept {
    return outstanding_.load(std::memory_order_relaxed);
  }
  /// Lists own operations that have not ended, for an explanation. Any thread. In one_sided_report.cpp.
  void describe(PendingList& list) const noexcept;
  /// Whose deadline has passed: by its completion object, or as a piece of a vectored access.
  struct Due {
    const Deadlines& deadlines;
    const Completion* piece_ended;  // what such pieces signal, with a user_data of which
    bool (*is_piece_due)(const void* vectored, const void* user_data) noexcept;
    const void* vectored;
  };
  /// Ends the accesses that are due: what has not been sent is dropped, and answers are not waited for. One
  /// that the network has ends when that says so. By whoever may step().
  void expire(const Due& due) noexcept;
  /// Ends the operations whose peer has left.
  void end_lost_operations() noexcept;

 private:
  struct Request;  // an own access
  struct Answer;   // to an access of a peer
  /// How an attempt is made.
  struct Origin {
    PendingPost* pending;  // whose copy of the source moves to the request; null: the source is the user's
    bool from_handler;
    bool keeps_room;      // as in network::Outgoing
    bool waits_for_room;  // messages have to queue up behind the backlog
    std::uint8_t epoch;   // of the flushes
  };

  // one_sided_post.cpp
  [[nodiscard]] static Reason reason_of(network::AccessResult result) noexcept;
  Status attempt(const Access& access, const Origin& origin, bool exclusive) noexcept;
  Status attempt_directly(Request& request, const Origin& origin, bool exclusive, bool& is_reached) noexcept;
  Status attempt_in_place(Request& request, std::byte* place) noexcept;
  Status attempt_by_messages(Request& request, const Origin& origin, bool exclusive) noexcept;
  Status give_up(Request& request, const Origin& origin, Reason reason) noexcept;
  Status keep_for_retry(const Access& access, Backlog& backlog, const Origin& origin) noexcept;
  // one_sided.cpp
  [[nodiscard]] Request* take(const Access& access, const Origin& origin) noexcept;
  void count_success(const Request& request) noexcept;
  Status finish(Request& request, Outcome outcome, bool in_post) noexcept;
  void free(Request& request) noexcept;
  [[nodiscard]] bool send_signal(Request& request, bool exclusive) noexcept;
  [[nodiscard]] Request* claim(RequestName name, int peer, Operation operation) noexcept;
  void settle(Request& request, Outcome outcome, bool counts) noexcept;
  void signal(std::uint64_t word, Operation operation, int peer) noexcept;
  // one_sided_expiry.cpp
  [[nodiscard]] static bool is_due(const Request& request, const Due& due) noexcept;
  void unknown(const Message& arrival, const char* what, std::uint64_t word, network::Sink& sink) noexcept;
  // one_sided_pieces.cpp
  [[nodiscard]] AccessPiece next_piece(const Request& request, std::uint64_t size) const noexcept;
  Status send_piece(Request& request, bool keeps_room, bool exclusive, bool& gone) noexcept;
  template <class Send>
  static Status send_to_target(Request& request, Channel channel, bool carries_signal, bool keeps_room,
                               bool& gone, const Send& send) noexcept;
  Status send_put(Request& request, std::uint64_t size, bool keeps_room, bool exclusive, bool& gone) noexcept;
  Status send_get(Request& request, std::uint64_t size, bool keeps_room, bool exclusive, bool& gone) noexcept;
  Step advance(Request& request, bool exclusive) noexcept;
  void on_access_ended(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  void on_get_data(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  // one_sided_atomic.cpp
  Status attempt_located(Request& request, const Origin& origin, bool& is_reached) noexcept;
  Status send_atomic(Request& request, bool keeps_room, bool exclusive, bool& gone) noexcept;
  bool on_atomic(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  void on_atomic_ended(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  // one_sided_target.cpp
  [[nodiscard]] std::byte* find(const AccessPiece& piece) const noexcept;
  [[nodiscard]] Answer* take_answer(bool urgent) noexcept;
  bool on_put(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  bool on_get(const Message& arrival, network::Sink& sink) noexcept;
  Step give(Answer& answer, bool exclusive) noexcept;
  network::SendResult give_data(const AccessPiece& wanted, const network::Outgoing& outgoing,
                                bool exclusive) noexcept;
  void give_or_keep(Answer& answer) noexcept;
  void free(Answer& answer) noexcept;

  const Context& context_;
  const std::size_t inline_limit_;  // messages up to here are sent without a packet
  const std::uint64_t put_piece_;   // bytes of a piece that goes by packet
  const std::uint64_t get_piece_;
  concurrent::IndexPool<> free_requests_;
  concurrent::IndexPool<> free_answers_;
  std::unique_ptr<Request[]> requests_;
  std::unique_ptr<Answer[]> answers_;
  Flushes flushes_;
  alignas(64) std::atomic<std::uint32_t> working_{0};
  std::atomic<std::uint32_t> outstanding_{0};
  std::atomic<std::uint32_t> waiting_{0};  // requests that go by messages
  std::atomic<std::uint32_t> answers_in_use_{0};
  std::atomic<bool> has_expired_{false};  // accesses, to which answers may still come
  WorkList<Request> advancing_;
  WorkList<Answer> giving_;
};

}  // namespace weft::core
