// The requests of one-sided accesses: their records, from a post to the completion, and who ends them.
//
// Sources: access_requests.cpp (taken, finished, freed), request_ends.cpp (what the network and peers report,
// lost peers), expiry.cpp (deadlines, objects that are destroyed), report.cpp (for explanations).
#pragma once

#include "core/backlog/caller.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/memory/indexed_records.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/one_sided/access_request.hpp"
#include "core/protocol/one_sided/flush.hpp"
#include "core/protocol/work_list.hpp"

#include <weft/status.hpp>

#include <atomic>

namespace weft::core {

class DetachedOperations;

class AccessRequests {
 public:
  AccessRequests(const Context& context, OneSidedCounts& counts);

  /// A request for the access, or nullptr. It ends by finish() or, when the network has accepted nothing, by
  /// free().
  [[nodiscard]] AccessRequest* take(const OneSidedAccess& access, const AccessOrigin& origin) noexcept;
  void free(AccessRequest& request) noexcept;
  /// The access has ended: signals the owner of the region and the completion object, unless there is none or
  /// the post may say so itself.
  Status finish(AccessRequest& request, Outcome outcome) noexcept { return finish(request, outcome, false); }
  Status finish_in_post(AccessRequest& request, Outcome outcome) noexcept {
    return finish(request, outcome, true);
  }
  /// Sends the signal of an access that has ended. Returns false when it has to be sent again.
  [[nodiscard]] bool send_signal(AccessRequest& request, Caller caller) noexcept;
  /// Counts and reports a failed access that has no completion object.
  void count_failure(Operation operation, const RemoteAddress& where, std::size_t size,
                     Outcome outcome) noexcept;

  /// The request is carried out by messages, which await the peer; until it is freed.
  void await_peer(AccessRequest& request) noexcept {
    request.by_messages = true;
    waiting_.fetch_add(1, std::memory_order_relaxed);
  }
  /// step() continues the request.
  void advance(AccessRequest& request) noexcept {
    counts_.working.fetch_add(1, std::memory_order_relaxed);
    advancing_.add(request);
  }
  template <class Advance>
  std::size_t step(const Advance& advance) noexcept {
    return advancing_.run(counts_.working, advance);
  }

  /// The request that an answer of the peer names, for settle(); or nullptr.
  [[nodiscard]] AccessRequest* claim(RequestName name, int peer, Operation operation) noexcept;
  /// Ends what claim() began.
  void settle(AccessRequest& request, Outcome outcome) noexcept;
  /// settle() when the message was no valid answer, and the piece is still in progress.
  void disclaim(AccessRequest& request) noexcept;
  /// Handles an answer that belongs to no access.
  void reject_unknown(const Message& arrival, const char* what, std::uint64_t word,
                      network::Sink& sink) const noexcept;
  /// Handles what the network reports of an access that was posted.
  void access_completed(std::uint64_t token, Outcome outcome) noexcept;

  /// Says which accesses' deadlines have passed: by their completion object, or as pieces of a vectored
  /// access.
  struct Due {
    const Deadlines& deadlines;
    const Completion* piece_completed;  // what such pieces signal, with their record as user data
    bool (*is_piece_due)(const void* vectored, const void* user_data) noexcept;
    const void* vectored;
  };
  /// Ends the accesses that are due: pieces not sent yet are dropped, and answers are not awaited. An access
  /// that the network carries out ends when the network reports it. Only for the thread that may call step().
  void expire(const Due& due) noexcept;
  /// Ends the accesses by messages whose peer has left or failed. `is_over`: see
  /// Rendezvous::complete_lost_operations().
  void complete_lost(const std::atomic<bool>* is_over) noexcept;
  /// Returns true when complete_lost() might have work.
  [[nodiscard]] bool awaits_peers() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
  /// Returns true when an access may signal the object. Any thread; cheap while no access is in progress.
  [[nodiscard]] bool may_name(const Completion& object) const noexcept;
  /// The object is being destroyed: accesses that name it signal `instead`. Any thread.
  void forget_object(const Completion& object, DetachedOperations& instead) noexcept;
  /// Lists the accesses that have not ended, for an explanation. Any thread.
  void describe(PendingList& list) const noexcept;
  /// The counts of accesses in progress, for flushes.
  [[nodiscard]] Flushes& flushes() noexcept { return flushes_; }

 private:
  using Request = AccessRequest;

  Status finish(Request& request, Outcome outcome, bool in_post) noexcept;
  void count_success(const Request& request) noexcept;
  [[nodiscard]] static bool is_due(const Request& request, const Due& due) noexcept;

  const Context& context_;
  OneSidedCounts& counts_;
  const PieceSizes sizes_;
  IndexedRecords<Request> requests_;
  Flushes flushes_;
  std::atomic<std::uint32_t> waiting_{0};  // requests that are carried out by messages
  std::atomic<bool> has_expired_{false};   // some accesses have expired, and answers to them may still arrive
  WorkList<Request> advancing_;
};

}  // namespace weft::core
