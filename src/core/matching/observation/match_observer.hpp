// Counts, and records, what an engine searches. Engines have an observer only when somebody asks for it.
#pragma once

#include "base/clock.hpp"
#include "core/matching/observation/match_event_log.hpp"
#include "core/matching/table/match_key.hpp"
#include "core/matching/table/match_link.hpp"

#include <weft/matching/counters.hpp>

#include <atomic>
#include <cstdint>

namespace weft::core {

/// Any thread; sums are exact while no thread uses the engine.
class MatchObserver {
 public:
  /// `log`: null, or outlives the observer.
  MatchObserver(std::uint16_t engine, MatchEventLog* log) noexcept : engine_(engine), log_(log) {}

  void missed_lock() noexcept { lock_misses_.fetch_add(1, std::memory_order_relaxed); }
  /// A receive or message has stopped waiting without having been found by a search.
  void left(MatchSide side) noexcept { waiting_of(side).fetch_sub(1, std::memory_order_relaxed); }
  /// The same of a receive that the program has cancelled.
  void cancelled(std::uint64_t identity) noexcept {
    left(MatchSide::posted);
    if (log_ != nullptr) log_->add({MatchEvent::Kind::cancel, engine_, {}, 0, identity});
  }
  /// A matched probe has taken a message.
  void taken(const MatchKey& key, std::uint64_t tag_mask) noexcept {
    left(MatchSide::unexpected);
    if (log_ != nullptr) log_->add({MatchEvent::Kind::take, engine_, key, tag_mask, 0});
  }
  [[nodiscard]] MatchingCounters counters() const noexcept;

 private:
  friend class MatchSearch;
  struct Searches {
    std::atomic<std::uint64_t> count{0}, matched{0}, compared{0}, deepest{0}, nanoseconds{0}, waiting{0},
        most_waiting{0};
  };
  [[nodiscard]] static MatchSearches read(const Searches& searches) noexcept;
  [[nodiscard]] Searches& searches_of(MatchSide side) noexcept {
    return side == MatchSide::posted ? posts_ : arrivals_;
  }
  [[nodiscard]] std::atomic<std::int64_t>& waiting_of(MatchSide side) noexcept {
    return side == MatchSide::posted ? receives_waiting_ : messages_waiting_;
  }

  const std::uint16_t engine_;
  MatchEventLog* const log_;
  Searches arrivals_;
  Searches posts_;
  std::atomic<std::int64_t> receives_waiting_{0};
  std::atomic<std::int64_t> messages_waiting_{0};
  std::atomic<std::uint64_t> lock_misses_{0};
};

/// One search, from its constructor to found() or not_found(). `side`: of what searches: a receive that is
/// posted, or an unexpected message.
class MatchSearch {
 public:
  /// `observer`: null: nobody asks.
  MatchSearch(MatchObserver* observer, MatchSide side, const MatchKey& key,
              std::uint64_t tag_mask = ~std::uint64_t{0}) noexcept
      : observer_(observer), side_(side), key_(key), tag_mask_(tag_mask) {
    if (observer_ != nullptr) begin_ns_ = base::now_ns();
  }
  /// Entries compared so far; the searching code adds to it.
  std::uint32_t depth = 0;

  /// The search has ended; what follows until found() or not_found() does not count as searching.
  void stop() noexcept {
    if (observer_ != nullptr && duration_ns_ < 0) duration_ns_ = base::now_ns() - begin_ns_;
  }

  void found() noexcept {
    if (observer_ != nullptr) end(true, 0);
  }
  /// Nothing was found. Called before the record of what has searched becomes visible to other threads.
  void not_found(std::uint64_t identity) noexcept {
    if (observer_ != nullptr) end(false, identity);
  }

 private:
  void end(bool is_found, std::uint64_t identity) noexcept;

  MatchObserver* const observer_;
  const MatchSide side_;
  const MatchKey key_;
  const std::uint64_t tag_mask_;
  std::int64_t begin_ns_ = 0;
  std::int64_t duration_ns_ = -1;
};

}  // namespace weft::core
