// The matching contexts of a runtime: which numbers are in use, and what is known of each.
//
// A number is 32 bits. Those that are made of keys have the highest bit. Of the others the rank that gives a
// number is the part above serials_; it alone decides which of its numbers are free, so that two agreements
// never need to know of each other.
#pragma once

#include "core/matching/gone_contexts.hpp"

#include <weft/detail/context_state.hpp>
#include <weft/options.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace weft::core {

/// The bits of a word that are the number of its context.
inline constexpr std::uint64_t kContextBits = ~std::uint64_t{0} << 32;
[[nodiscard]] constexpr std::uint32_t context_of(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> 32);
}

/// Any thread.
class MatchingContexts {
 public:
  static constexpr std::uint32_t kMost = std::uint32_t{1} << 24;  // contexts of one object

  explicit MatchingContexts(int ranks) noexcept;

  /// Takes `count` numbers, of those that this rank, `own`, gives; the first is a multiple of the power of
  /// two that is not less than `count`. Throws weft::Error.
  [[nodiscard]] ContextNumbers reserve(int own, std::uint32_t count);
  void give_back(ContextNumbers numbers) noexcept;
  /// Begins contexts. Throws weft::Error when one of the numbers is in use.
  [[nodiscard]] detail::ContextState& open(const detail::RuntimeState& runtime, ContextNumbers numbers,
                                           const MatchingContextOptions& options);
  /// Contexts are about to end: from now on what arrives in them comes late. Then what waits in them ends,
  /// and close() ends them. Returns false for contexts by key, in which nothing comes late.
  [[nodiscard]] bool begin_to_close(const detail::ContextState& state) noexcept;
  void close(detail::ContextState& state) noexcept;
  /// Those that have ended: may_have() without a lock.
  [[nodiscard]] const GoneContexts& gone() const noexcept { return gone_; }
  /// Returns true when the word of a message names a context that has ended. Takes a lock where it may.
  [[nodiscard]] bool is_late(std::uint64_t word) const noexcept {
    return gone_.may_have(context_of(word)) && is_gone(context_of(word));
  }
  /// The name of a context that is open; empty: none is.
  [[nodiscard]] std::string first_open() const;

  /// Notes in which contexts a member that they need has failed. has_failed(rank): for ranks of the job.
  template <class HasFailed>
  void note_failures(const HasFailed& has_failed) {
    if (needing_.load(std::memory_order_relaxed) == 0) return;
    const std::lock_guard lock(mutex_);
    for (auto& [first, context] : contexts_)
      if (context.needs_all_members && !context.has_lost_one) note_failures_of(context, has_failed);
  }
  /// Whether a member that the context needs has failed, as far as note_failures() knows.
  [[nodiscard]] bool has_lost_a_member(std::uint32_t number) const noexcept;
  /// Whether the context needs all members.
  [[nodiscard]] bool needs_members(std::uint32_t number) const noexcept;
  /// Whether there are contexts that need all members.
  [[nodiscard]] bool any_needs_members() const noexcept {
    return needing_.load(std::memory_order_relaxed) != 0;
  }

  /// The engine of a context: the same on every member.
  [[nodiscard]] static std::uint16_t engine_of(ContextNumbers numbers, MatchOrder order) noexcept;
  /// "MatchingContext (key 7)"
  [[nodiscard]] static std::string name_of(ContextNumbers numbers);

 private:
  struct Context {
    std::uint32_t count = 0;
    detail::ContextState* state = nullptr;  // null: the numbers are reserved
    bool needs_all_members = false;
    bool has_lost_one = false;
    bool is_closing = false;
    std::vector<int> members{};  // where not all ranks are
  };
  template <class HasFailed>
  void note_failures_of(Context& context, const HasFailed& has_failed) {
    bool has_lost = false;
    if (context.members.empty())
      for (int rank = 0; rank < ranks_ && !has_lost; ++rank) has_lost = has_failed(rank);
    else
      for (const int rank : context.members) has_lost = has_lost || has_failed(rank);
    if (!has_lost) return;
    context.has_lost_one = true;
    lost_.fetch_add(1, std::memory_order_relaxed);
  }
  /// The context with one of these numbers that lies last, or end().
  [[nodiscard]] std::map<std::uint32_t, Context>::const_iterator find(std::uint32_t first,
                                                                      std::uint32_t count) const noexcept;
  [[nodiscard]] detail::ContextState& take_state();
  [[nodiscard]] bool is_gone(std::uint32_t number) const noexcept;

  const int ranks_;
  const std::uint32_t serials_;  // numbers that each rank gives
  mutable std::mutex mutex_;     // guards the members below
  std::map<std::uint32_t, Context> contexts_;
  std::uint32_t next_ = 0;  // where the search for free numbers begins
  std::deque<detail::ContextState> states_;
  std::vector<detail::ContextState*> free_states_;
  GoneContexts gone_;
  std::atomic<std::uint32_t> needing_{0};
  std::atomic<std::uint32_t> lost_{0};
};

}  // namespace weft::core
