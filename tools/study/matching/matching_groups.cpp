#include "study/matching/matching_groups.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace weft::tools::study {

namespace {

std::string title_of(const MatchingRow& row) {
  const std::string from = (row.senders == 1 ? "" : fmt::format(", from {} ranks", row.senders)) +
                           (row.sweep.empty() ? "" : ", " + row.sweep + " against threads");
  if (row.mode == "replay")
    return fmt::format("Replay without a network: messages arrive {}{}",
                       row.order == "reversed"      ? "in reverse order"
                       : row.order == "in-order"    ? "in the order of their receives"
                       : row.order == "interleaved" ? "as threads send that take fair turns"
                                                    : "in random order",
                       from);
  if (row.mode == "live") return "Live: messages arrive after their receives were posted" + from;
  if (row.mode == "unexpected") return "Live: messages arrive before their receives are posted" + from;
  return "Traces of programs, replayed without a network";
}

std::string name_of_group(const MatchingRow& row) {
  std::string name = row.mode;
  if (!row.order.empty()) name += "-" + row.order;
  if (row.senders != 1) name += fmt::format("-{}", row.senders);
  if (!row.sweep.empty()) name += "-" + row.sweep;
  return name;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::optional<double> first_of(const MatchingGroup& group, const std::string& scenario,
                               std::optional<double> MatchingRow::*value) {
  for (const MatchingRow* row : group.rows)
    if (row->scenario == scenario && row->*value) return row->*value;
  return std::nullopt;
}

}  // namespace

const MatchingRow* MatchingGroup::find(const std::string& scenario, const std::string& engine) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const MatchingRow* row) {
    return row->scenario == scenario && row->engine == engine;
  });
  return found == rows.end() ? nullptr : *found;
}

const MatchingRow& MatchingGroup::any(const std::string& scenario) const {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const MatchingRow* row) { return row->scenario == scenario; });
  if (found == rows.end()) throw Error("there is no row for " + scenario);
  return **found;
}

std::vector<MatchingGroup> groups_of(const MatchingResults& results) {
  std::vector<MatchingGroup> groups;
  for (const MatchingRow& row : results.rows) {
    const std::string name = name_of_group(row);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const MatchingGroup& each) { return each.name == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), {name, title_of(row), {}, {}, {}});
    add_once(group->scenarios, row.scenario);
    add_once(group->engines, row.engine);
    group->rows.push_back(&row);
  }
  return groups;
}

const std::vector<MatchingFigure>& matching_figures() {
  static const std::vector<MatchingFigure> all{
      {"depth", "entries compared for a message",
       [](const MatchingRow& row) {
         return row.depth.count == 0 ? std::nullopt : std::optional(row.mean_depth);
       }},
      {"drain_us", "time until all messages are matched, us", [](const MatchingRow& row) {
         return row.drain_us.count == 0 ? std::nullopt : std::optional(row.drain_us.median);
       }}};
  return all;
}

std::optional<double> bound_of(const MatchingGroup& group, const std::string& scenario) {
  return first_of(group, scenario, &MatchingRow::bound);
}
std::optional<double> simulated_of(const MatchingGroup& group, const std::string& scenario) {
  return first_of(group, scenario, &MatchingRow::simulated);
}
std::optional<double> paper_depth_of(const MatchingGroup& group, const std::string& scenario) {
  return first_of(group, scenario, &MatchingRow::paper_depth);
}
std::optional<double> paper_us_of(const MatchingGroup& group, const std::string& scenario) {
  const std::optional<double> milliseconds = first_of(group, scenario, &MatchingRow::paper_ms);
  return milliseconds ? std::optional(1000 * *milliseconds) : std::nullopt;
}

std::string short_number(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

}  // namespace weft::tools::study
