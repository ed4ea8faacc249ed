#include "core/matching/observation/match_observer.hpp"

#include <algorithm>

namespace weft::core {

namespace {

void raise(std::atomic<std::uint64_t>& highest, std::uint64_t value) noexcept {
  std::uint64_t seen = highest.load(std::memory_order_relaxed);
  while (seen < value && !highest.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

void add(std::atomic<std::uint64_t>& sum, std::uint64_t value) noexcept {
  sum.fetch_add(value, std::memory_order_relaxed);
}

}  // namespace

void MatchSearch::end(bool is_found, std::uint64_t identity) noexcept {
  stop();
  MatchObserver& observer = *observer_;
  MatchObserver::Searches& searches = observer.searches_of(side_);
  std::atomic<std::int64_t>& others =
      observer.waiting_of(side_ == MatchSide::posted ? MatchSide::unexpected : MatchSide::posted);
  // Below 0 for a moment where a thread of another bucket is between a match and its count.
  const auto waiting =
      static_cast<std::uint64_t>(std::max(others.load(std::memory_order_relaxed), std::int64_t{0}));
  add(searches.count, 1);
  add(searches.compared, depth);
  add(searches.nanoseconds, static_cast<std::uint64_t>(duration_ns_));
  add(searches.waiting, waiting);
  raise(searches.deepest, depth);
  raise(searches.most_waiting, waiting);
  if (is_found) {
    add(searches.matched, 1);
    others.fetch_sub(1, std::memory_order_relaxed);
  } else {
    observer.waiting_of(side_).fetch_add(1, std::memory_order_relaxed);
  }
  if (observer.log_ != nullptr)
    observer.log_->add({side_ == MatchSide::posted ? MatchEvent::Kind::post : MatchEvent::Kind::arrive,
                        observer.engine_, key_, tag_mask_, identity});
}

MatchSearches MatchObserver::read(const Searches& searches) noexcept {
  const auto value = [](const std::atomic<std::uint64_t>& sum) {
    return sum.load(std::memory_order_relaxed);
  };
  return {value(searches.count),       value(searches.matched),     value(searches.compared),
          value(searches.deepest),     value(searches.nanoseconds), value(searches.waiting),
          value(searches.most_waiting)};
}

MatchingCounters MatchObserver::counters() const noexcept {
  return {read(arrivals_), read(posts_), lock_misses_.load(std::memory_order_relaxed)};
}

}  // namespace weft::core
