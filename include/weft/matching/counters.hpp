// What a matching engine counts when MatchingEngineOptions::counters asks for it.
#pragma once

#include <weft/detail/language.hpp>

#include <cstdint>

namespace weft {

/// Searches of one kind: for the receive of each message that arrives, or for the message of each receive
/// that is posted.
struct MatchSearches {
  std::uint64_t count = 0;
  std::uint64_t matched = 0;      ///< of these: searches that found what they looked for
  std::uint64_t compared = 0;     ///< entries that all searches have compared, those found included
  std::uint64_t deepest = 0;      ///< entries that the longest search has compared
  std::uint64_t nanoseconds = 0;  ///< spent searching; some 25 for each search are the clock's own

  // What was waiting when the searches began: receives for those of arrivals, messages for those of posts.
  std::uint64_t waiting = 0;  ///< sum over all searches
  std::uint64_t most_waiting = 0;

  /// Entries that a search has compared on average; 0 when there was none.
  [[nodiscard]] double mean_depth() const noexcept { return per_search(compared); }
  /// Receives, or messages, that were waiting on average.
  [[nodiscard]] double mean_waiting() const noexcept { return per_search(waiting); }

 private:
  [[nodiscard]] double per_search(std::uint64_t sum) const noexcept {
    return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
  }
};

/// The counters of a matching engine, since it was opened. Exact while no thread uses the engine, else
/// approximate. An entry is one receive or message in a list, one key in a bucket of weft's own table, or
/// what MatchingAlgorithm::Found::depth says.
struct MatchingCounters {
  MatchSearches arrivals;         ///< of messages, when it was their turn
  MatchSearches posts;            ///< of receives
  std::uint64_t lock_misses = 0;  ///< attempts that found another thread in the engine, or in the bucket
};

}  // namespace weft
