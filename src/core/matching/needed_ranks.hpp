// Which operations of an engine end because a rank that they need has failed.
#pragma once

#include "core/matching/matching_contexts.hpp"

#include <atomic>
#include <cstdint>

namespace weft::core {

/// Any thread.
class NeededRanks {
 public:
  /// true: waiting operations of the engine end as soon as any rank has failed.
  void set_all(bool value) noexcept { needs_all_.store(value, std::memory_order_relaxed); }
  /// The engine is one of contexts, each of which tells for itself. Before it is used.
  void serve(const MatchingContexts& contexts) noexcept { contexts_ = &contexts; }

  /// Returns true when an operation with this tag ends because a rank that it needs has failed. `any_failed`:
  /// a rank of the job has.
  [[nodiscard]] bool is_given_up(std::uint64_t tag, bool any_failed) const noexcept {
    if (!any_failed) return false;
    return needs_all() || (contexts_ != nullptr && contexts_->has_lost_a_member(context_of(tag)));
  }
  /// Returns true when an operation with this tag is one of all ranks, or all members of its context. Takes
  /// a lock.
  [[nodiscard]] bool is_collective(std::uint64_t tag) const noexcept {
    return needs_all() || (contexts_ != nullptr && contexts_->needs_members(context_of(tag)));
  }
  /// Returns true when is_given_up() may become true for some tag.
  [[nodiscard]] bool may_need_ranks() const noexcept {
    return needs_all() || (contexts_ != nullptr && contexts_->any_needs_members());
  }

 private:
  [[nodiscard]] bool needs_all() const noexcept { return needs_all_.load(std::memory_order_relaxed); }

  std::atomic<bool> needs_all_{false};
  const MatchingContexts* contexts_ = nullptr;  // null: not an engine of contexts
};

}  // namespace weft::core
