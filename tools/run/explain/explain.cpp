#include "run/explain/explain.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "run/explain/wait_graph.hpp"

namespace weft::tools::run {
namespace {

constexpr std::size_t kWaitsOfARank = 2;
constexpr std::size_t kDescribedRanks = 8;

std::string conclude_circle(const std::vector<int>& circle) {
  if (circle.size() == 1)
    return fmt::format(" So rank {} waits for itself: only it could end this wait.", circle.front());
  std::string path;
  for (const int rank : circle) path += fmt::format("{} -> ", rank);
  path += std::to_string(circle.front());
  std::vector<int> sorted = circle;
  std::sort(sorted.begin(), sorted.end());
  return fmt::format(" So {} wait for each other{} ({}): none of them goes on before another one does.",
                     name_ranks(sorted), circle.size() > 2 ? " in a circle" : "", path);
}

/// Names the ends of chains of waits: ranks that others wait for and that wait for no rank.
std::string conclude_chains(const std::vector<ObservedRank>& ranks,
                            const std::vector<std::vector<Reason>>& reasons) {
  std::set<int> awaited;
  for (const auto& of_rank : reasons)
    for (const Reason& reason : of_rank) awaited.insert(reason.awaited.begin(), reason.awaited.end());
  std::vector<int> busy;
  for (const int rank : awaited) {
    const auto index = static_cast<std::size_t>(rank);
    if (rank >= 0 && index < ranks.size() && ranks[index].report && reasons[index].empty())
      busy.push_back(rank);
  }
  if (busy.empty()) return "";
  return fmt::format(
      " There is no circle: {} {} waited for and {} in no call of weft (computing, or waiting for something "
      "else).",
      name_ranks(busy), busy.size() == 1 ? "is" : "are", busy.size() == 1 ? "waits" : "wait");
}

}  // namespace

std::string explain(const std::vector<RankAnswer>& answers) {
  std::vector<ObservedRank> ranks;
  std::vector<int> silent;
  std::vector<int> ended;
  for (const RankAnswer& answer : answers) {
    ranks.push_back({answer.report ? parse_report(*answer.report) : std::nullopt, answer.end});
    const int rank = static_cast<int>(ranks.size()) - 1;
    if (!answer.end.empty())
      ended.push_back(rank);
    else if (!ranks.back().report)
      silent.push_back(rank);
  }
  const auto reasons = reasons_of(ranks, kWaitsOfARank);
  const std::vector<int> circle = find_circle(reasons);

  // The ranks of the circle come first: they are the cause.
  std::vector<int> order = circle;
  for (int rank = 0; rank < static_cast<int>(reasons.size()); ++rank)
    if (!reasons[static_cast<std::size_t>(rank)].empty() &&
        std::find(circle.begin(), circle.end(), rank) == circle.end())
      order.push_back(rank);
  std::string text;
  for (std::size_t number = 0; number < std::min(order.size(), kDescribedRanks); ++number)
    for (const Reason& reason : reasons[static_cast<std::size_t>(order[number])])
      text += (text.empty() ? "" : " ") + reason.sentence + '.';
  if (order.size() > kDescribedRanks)
    text += fmt::format(" {} more ranks wait.", order.size() - kDescribedRanks);
  if (order.empty())
    text += "No rank waits in a call of weft: they compute, poll, or wait for something else.";
  std::size_t described = 0;
  for (int rank = 0; rank < static_cast<int>(ranks.size()) && described < kDescribedRanks; ++rank) {
    if (!ranks[static_cast<std::size_t>(rank)].report) continue;
    const std::string undone = left_undone(ranks, rank);
    if (undone.empty()) continue;
    ++described;
    text += ' ' + undone + '.';
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank].report)
      for (const std::string& layer : ranks[rank].report->layers)
        text += fmt::format(" Rank {}: {}.", rank, layer);
  text += circle.empty() ? conclude_chains(ranks, reasons) : conclude_circle(circle);
  if (!ended.empty())
    text += fmt::format(" Of {} nothing is to be expected: {} ended.", name_ranks(ended),
                        ended.size() == 1 ? "it has" : "they have");
  if (!silent.empty())
    text +=
        fmt::format(" No answer came from {}: no runtime of weft is there (yet), or the process is stopped.",
                    name_ranks(silent));
  return text;
}

}  // namespace weft::tools::run
