// The answers of posts, and the outcomes of operations.
#pragma once

#include <weft/detail/language.hpp>

#include <cstdint>

namespace weft {

/// The reason why a post was refused.
enum class Reason : std::uint8_t {
  none,
  no_slot,         ///< the lane to the peer is full: the peer has not consumed earlier messages
  no_packet,       ///< the packet pool is empty
  no_credit,       ///< the peer stopped its senders (a full queue), or too many large messages are under way
  no_request,      ///< the device's table of operations in flight is full
  lock_contended,  ///< another thread of this process is posting to the same lane at this moment; never of
                   ///< receives
  backlog,         ///< the backlog for this peer is full, or not empty yet
  not_ready,       ///< the peer has not opened the device or exposed the handle yet
  in_flight,       ///< the persistent receive has not ended since it was started
};

/// The outcome with which an operation ended. Calls that return it are not to be used like statements: an
/// operation that has failed tells nobody else.
enum class [[nodiscard]] Outcome : std::uint8_t{
    ok,
    truncated,
    cancelled,
    timed_out,
    peer_failed,  ///< the peer has failed, or has left the job
    /// the peer's region is smaller than the access, or has been released, and nothing was accessed; or its
    /// owner has made its memory inaccessible, and a part may have been accessed; or the large active message
    /// has no memory at the peer, now or later; or the peer has dropped the synchronous send
    refused,
};

/// The answer of a post: done, posted, or retry with its reason.
class [[nodiscard]] Status {
 public:
  /// The state of an operation after its post. Fatal errors are exceptions (weft::Error), never a state.
  enum class State : std::uint8_t {
    done,    ///< finished: the buffer may be reused, no completion will be signalled
    posted,  ///< accepted: the completion object, if one was passed, is signalled exactly once
    retry,   ///< refused without effect: try again after progress
  };

  constexpr Status() noexcept = default;
  static constexpr Status done() noexcept { return {State::done, Reason::none}; }
  static constexpr Status posted() noexcept { return {State::posted, Reason::none}; }
  static constexpr Status retry(Reason reason) noexcept { return {State::retry, reason}; }

  [[nodiscard]] constexpr State state() const noexcept { return state_; }
  [[nodiscard]] constexpr Reason reason() const noexcept { return reason_; }
  [[nodiscard]] constexpr bool is_done() const noexcept { return state_ == State::done; }
  [[nodiscard]] constexpr bool is_posted() const noexcept { return state_ == State::posted; }
  [[nodiscard]] constexpr bool is_retry() const noexcept { return state_ == State::retry; }
  /// done or posted: the operation will end exactly once without another call of post.
  [[nodiscard]] constexpr bool is_accepted() const noexcept { return state_ != State::retry; }

  friend constexpr bool operator==(Status, Status) noexcept = default;

 private:
  constexpr Status(State state, Reason reason) noexcept : state_(state), reason_(reason) {}
  State state_ = State::done;
  Reason reason_ = Reason::none;
};

/// "no_slot", "not_ready", ...: the enumerator's name, for messages and tables.
[[nodiscard]] constexpr const char* name_of(Reason reason) noexcept {
  switch (reason) {
    case Reason::none:
      return "none";
    case Reason::no_slot:
      return "no_slot";
    case Reason::no_packet:
      return "no_packet";
    case Reason::no_credit:
      return "no_credit";
    case Reason::no_request:
      return "no_request";
    case Reason::lock_contended:
      return "lock_contended";
    case Reason::backlog:
      return "backlog";
    case Reason::not_ready:
      return "not_ready";
    case Reason::in_flight:
      return "in_flight";
  }
  return "unknown";
}

/// "ok", "peer_failed", ...: the enumerator's name, for messages and tables.
[[nodiscard]] constexpr const char* name_of(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::ok:
      return "ok";
    case Outcome::truncated:
      return "truncated";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::timed_out:
      return "timed_out";
    case Outcome::peer_failed:
      return "peer_failed";
    case Outcome::refused:
      return "refused";
  }
  return "unknown";
}

}  // namespace weft
