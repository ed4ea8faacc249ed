// The reasons why ranks wait: sentences, and the ranks that could end each wait.
#pragma once

#include <string>
#include <vector>

#include "run/explain/rank_report.hpp"

namespace weft::tools::run {

/// The state of a rank, as input of the explanation.
struct ObservedRank {
  std::optional<RankReport> report;
  std::string end;  // empty while the rank runs
};

/// One wait: its purpose, and the ranks that could end it.
struct Reason {
  std::string sentence;      // "Rank 0 waits at a.cpp:3 (2.0 s) for ..."
  std::vector<int> awaited;  // ranks; empty: unknown, or any rank
};

/// Returns the reasons of every rank, at most `limit` for each.
std::vector<std::vector<Reason>> reasons_of(const std::vector<ObservedRank>& ranks, std::size_t limit);

/// Describes what a rank leaves undone, whether its threads wait or poll: receives that were posted long ago,
/// messages that no thread takes, posts that are refused. The first kind, and messages without a receive, are
/// described only when none of its threads waits, because the reasons of waits name them. Empty when there is
/// nothing.
std::string left_undone(const std::vector<ObservedRank>& ranks, int rank);

/// Returns the ranks that wait for each other in a circle, beginning with the lowest; empty when there is no
/// circle.
std::vector<int> find_circle(const std::vector<std::vector<Reason>>& reasons);

/// "rank 3", "ranks 0 and 1", "ranks 0, 1 and 4"; for many ranks, the first ones and the number of the
/// others.
std::string name_ranks(const std::vector<int>& ranks);

}  // namespace weft::tools::run
