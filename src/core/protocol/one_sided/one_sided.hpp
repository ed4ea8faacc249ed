// Puts, gets and atomic operations of one device.
//
// An access goes through the network where that reaches the region by itself. Otherwise the access is cut
// into pieces: a put sends each as a self-contained message (put) that the target checks, copies and answers
// (access_completed); a get asks for each (get) and the target answers with the bytes (get_data). The target
// stores nothing but answers that the network has not accepted yet, and pieces may overtake each other.
//
// An atomic operation is carried out by the initiator's processor where the region is mapped, else by the
// owner's: a message (atomic) asks for it, and the answer carries the old value (atomic_completed). Which of
// the two depends on the region alone, and both are operations of processors on the same memory.
//
// An access is an AccessRequest of AccessRequests from its post to its completion; AccessMessages sends it
// where the network cannot, to the AccessTarget of the owner. vectored.hpp (several pieces under one post)
// lies on top, accesses.hpp above the device.
//
// Sources: one_sided.cpp, post.cpp (posts, and attempts by the network).
#pragma once

#include "core/backlog/backlog.hpp"
#include "core/backlog/caller.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/one_sided/access_requests.hpp"
#include "core/protocol/one_sided/messages.hpp"
#include "core/protocol/one_sided/one_sided_access.hpp"
#include "core/protocol/one_sided/target.hpp"
#include "core/protocol/wire.hpp"

#include <weft/options.hpp>
#include <weft/status.hpp>

#include <string_view>

namespace weft::core {

class OneSided {
 public:
  using Access = OneSidedAccess;

  explicit OneSided(const Context& context);
  OneSided(const OneSided&) = delete;
  OneSided& operator=(const OneSided&) = delete;

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

  [[nodiscard]] AccessRequests& requests() noexcept { return requests_; }
  [[nodiscard]] const AccessRequests& requests() const noexcept { return requests_; }
  [[nodiscard]] AccessTarget& target() noexcept { return target_; }

  /// Arrivals of the channels put to atomic_signal. Returns false when the message cannot be accepted now.
  bool deliver(Channel channel, std::uint64_t word, Message& arrival, network::Sink& sink) noexcept;

  /// Continues the accesses in progress. One thread at a time. Returns the number of steps that made
  /// progress.
  std::size_t step(Caller caller) noexcept;
  /// Returns true when there are operations that step() has to continue.
  [[nodiscard]] bool has_work() const noexcept {
    return counts_.working.load(std::memory_order_relaxed) != 0;
  }
  /// The number of operations of this rank that have not ended, plus answers to peers.
  [[nodiscard]] std::uint32_t outstanding() const noexcept {
    return counts_.outstanding.load(std::memory_order_relaxed);
  }

 private:
  using Request = AccessRequest;
  using Origin = AccessOrigin;

  Status attempt(const Access& access, const Origin& origin) noexcept;
  Status attempt_directly(Request& request, const Origin& origin, bool& is_reached) noexcept;
  Status attempt_located(Request& request, const Origin& origin, bool& is_reached) noexcept;
  Status attempt_in_place(Request& request, std::byte* place) noexcept;
  Status attempt_by_messages(Request& request, const Origin& origin) noexcept;
  Status give_up(Request& request, const Origin& origin, Reason reason) noexcept;
  Status enqueue(const Access& access, Backlog& backlog, const Origin& origin) noexcept;

  const Context& context_;
  OneSidedCounts counts_;
  AccessRequests requests_;
  AccessMessages messages_;
  AccessTarget target_;
};

}  // namespace weft::core
