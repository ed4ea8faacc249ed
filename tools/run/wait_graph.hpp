// Why ranks wait: sentences, and the ranks that could end each wait.
#pragma once

#include <string>
#include <vector>

#include "run/rank_report.hpp"

namespace weft::tools::run {

/// A rank as the explanation sees it.
struct ObservedRank {
  std::optional<RankReport> report;
  std::string end;  // empty while it runs
};

/// One wait: what it is for, and who could end it.
struct Reason {
  std::string sentence;      // "Rank 0 waits at a.cpp:3 (2.0 s) for ..."
  std::vector<int> awaited;  // ranks; empty: not known, or any
};

/// The reasons of every rank, at most `limit` for each.
std::vector<std::vector<Reason>> reasons_of(const std::vector<ObservedRank>& ranks, std::size_t limit);

/// Ranks that wait for each other in a circle, beginning with the lowest; empty when there is none.
std::vector<int> find_circle(const std::vector<std::vector<Reason>>& reasons);

/// "rank 3", "ranks 0 and 1", "ranks 0, 1 and 4"; of many the first ones and how many more.
std::string name_ranks(const std::vector<int>& ranks);

}  // namespace weft::tools::run
