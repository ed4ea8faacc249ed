// Posts of receives, cancelling them, and probing for unexpected messages.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/peer/peer_failures.hpp"
#include "core/protocol/matched/matched_receiver.hpp"
#include "core/protocol/post_context.hpp"

#include <weft/options.hpp>
#include <weft/status.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace weft::core {

class ReceivePosts {
 public:
  ReceivePosts(const PostContext& posts, MatchingEngines& engines, const PeerFailures& failures,
               MatchedReceiver& receiver) noexcept
      : engines_(engines), posts_(posts), failures_(failures), receiver_(receiver) {}

  // Fast paths. `engine_and_source`: engine above bit 32, source below. They return false, without effect,
  // when they do not apply; the caller then falls back to post_slow(), or to post() on an ordered engine.

  /// For a receive by rank and tag on an unordered engine, with a completion object and without a handle or
  /// timeout, that finds room, or its unexpected message, first in its bucket.
  template <class Locking, class... UserData>
  bool try_post(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data, std::size_t size,
                Completion* completion, UserData... user_data) noexcept;
  /// For a receive on an ordered engine, for a tag that is not any_tag.
  template <class Locking, class... UserData>
  bool try_post_ordered(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data, std::size_t size,
                        Completion* completion, UserData... user_data) noexcept;

  /// For a receive on an ordered engine of which any argument may be a wildcard.
  bool try_post_wildcard(std::uint64_t engine_and_source, std::uint64_t tag, std::uint64_t tag_mask,
                         std::byte* data, std::size_t size, Completion* completion, void* user_data) noexcept;

  // Posts throw weft::Error for invalid arguments. A refused post is queued in the backlog when its options
  // ask for that, or when a handler posts.

  /// Makes once the checks of a persistent receive; returns its engine.
  MatchingEngine& check(int source, const ReceiveOptions& options, const char* operation);
  /// Ignores the timeout of the options.
  Status post(int source, std::uint64_t tag, std::span<std::byte> buffer, const ReceiveOptions& options);
  /// post() after try_post(), or on an engine where that does not apply.
  Status post_slow(int source, std::uint64_t tag, std::span<std::byte> buffer, const ReceiveOptions& options);
  /// post() with a timeout.
  Status post_within(int source, std::uint64_t tag, std::span<std::byte> buffer,
                     const ReceiveOptions& options);
  /// Posts a receive into a list of buffers, with or without a timeout.
  Status post_parts(int source, std::uint64_t tag, std::span<const MutableBytes> buffers,
                    const ReceiveOptions& options);

  /// Posts a receive from the backlog again.
  Status post_again(PendingPost& post, Caller caller) noexcept;
  /// A receive is taken out of the backlog without having been posted.
  void leave_backlog(const PendingPost& post) noexcept;

  /// Cancels a receive; one that waits in the backlog ends with the device's next progress. Returns false
  /// when it has matched its message, or has ended.
  bool cancel(const ReceiveHandle& handle) noexcept;
  /// Ends a posted receive. Returns false when it has matched its message, or has ended.
  bool end(const ReceiveHandle& handle, Outcome outcome) noexcept;
  /// Returns true when no rank is left that could send what a receive with these arguments would get, other
  /// than what has arrived. The arguments have passed the checks.
  [[nodiscard]] bool cannot_succeed(int source, std::uint64_t tag,
                                    const ReceiveOptions& options) const noexcept;
  bool probe(int source, std::uint64_t tag, const ReceiveOptions& options, ProbedMessage& found);
  /// Returns the engine and the record of the message; nullptr: there is no message.
  std::pair<MatchingEngine*, MatchRecord*> matched_probe(int source, std::uint64_t tag,
                                                         const ReceiveOptions& options);

 private:
  static constexpr Caller kFirstAttempt{.exclusive = false};  // receives need no more of their caller

  [[nodiscard]] bool is_lost(const MatchingEngine& engine, int source, std::uint64_t tag,
                             const ReceiveOptions& options) const noexcept;
  MatchingEngine& check_ordered(int source, const ReceiveOptions& options, const char* operation);
  template <class Locking, class... UserData>
  bool try_post_slow(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data, std::size_t size,
                     Completion* completion, UserData... user_data) noexcept;
  template <class Locking, class... UserData>
  bool try_post_ordered_slow(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data,
                             std::size_t size, Completion* completion, UserData... user_data) noexcept;
  template <class... UserData>
  bool try_post_from_any(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data,
                         std::size_t size, Completion* completion, UserData... user_data) noexcept;
  template <class Locking>
  bool try_post_wildcard(MatchingEngine& engine, const MatchKey& key, std::uint64_t tag_mask,
                         std::span<std::byte> buffer, Completion* completion, void* user_data,
                         bool may_complete_now) noexcept;
  bool try_receive_unexpected(MatchingEngine& engine, int source, std::uint64_t tag,
                              std::span<std::byte> buffer, const ReceiveOptions& options) noexcept;
  Status post_ordered(int source, std::uint64_t tag, std::span<std::byte> buffer,
                      const ReceiveOptions& options);
  Status post_ordered_slow(int source, std::uint64_t tag, std::span<std::byte> buffer,
                           const ReceiveOptions& options);
  /// One attempt to receive, for any engine; ends a receive that only a failed peer could match.
  Status attempt(MatchingEngine& engine, int source, std::uint64_t tag, std::span<std::byte> buffer,
                 const ReceiveOptions& options, Caller caller) noexcept;
  /// Queues a receive that was refused; by its handle it can be cancelled there, too.
  Status enqueue(int peer, int source, std::uint64_t tag, std::span<std::byte> buffer,
                 const ReceiveOptions& options);

  MatchingEngines& engines_;
  const PostContext posts_;
  const PeerFailures& failures_;
  MatchedReceiver& receiver_;
};

}  // namespace weft::core
