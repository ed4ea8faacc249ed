// What the paper has found, and what shows in a study.
#include <fmt/core.h>

#include <algorithm>

#include "common/machine/other_programs.hpp"
#include "study/matching/matching_groups.hpp"
#include "study/matching/model/study_engines.hpp"

namespace weft::tools::study {

namespace {

/// The row of an engine with the largest figure.
const MatchingRow* largest(const MatchingResults& results, std::string_view engine,
                           const MatchingFigure& figure, std::string_view mode) {
  const MatchingRow* found = nullptr;
  for (const MatchingRow& row : results.rows)
    if (row.engine == engine && row.mode == mode && figure.of(row) &&
        (found == nullptr || *figure.of(row) > *figure.of(*found)))
      found = &row;
  return found;
}

void add_bounds(const MatchingResults& results, std::vector<std::string>& findings) {
  std::size_t kept = 0;
  std::size_t judged = 0;
  for (const MatchingRow& row : results.rows)
    if (const std::optional<bool> keeps = row.keeps_bound()) {
      ++judged;
      if (*keeps) {
        ++kept;
      } else {
        findings.push_back(fmt::format("{}, {}: a list compares {} entries, and {} by theory", row.scenario,
                                       row.order, short_number(row.mean_depth), short_number(*row.bound)));
      }
    }
  if (judged != 0)
    findings.push_back(
        fmt::format("{} of {} replays of a list have the depth that theory says", kept, judged));
}

void add_list_depths(const MatchingResults& results, std::vector<std::string>& findings) {
  std::size_t rows = 0;
  std::size_t inside = 0;
  for (const MatchingRow& row : results.rows) {
    if (!row.simulated || row.depth.count == 0) continue;
    ++rows;
    const double least = 0.9 * *row.simulated;
    const double most = 1.15 * (static_cast<double>(row.counts.messages) + 3) / 4;
    inside += row.mean_depth >= least && row.mean_depth <= most ? 1 : 0;
  }
  if (rows != 0)
    findings.push_back(
        fmt::format("the list's live depth lies between 0.9 of the interleaved replay's and "
                    "1.15 of random order's in {} of {} decompositions",
                    inside, rows));
}

void add_drains(const MatchingResults& results, std::vector<std::string>& findings) {
  const MatchingFigure& time = matching_figures()[1];
  const MatchingFigure& depth = matching_figures()[0];
  for (const StudyEngine& each : study_engines()) {
    const std::string_view engine = each.name;
    const MatchingRow* const slowest = largest(results, engine, time, "live");
    const MatchingRow* const deepest = largest(results, engine, depth, "live");
    if (slowest == nullptr || deepest == nullptr) continue;
    findings.push_back(fmt::format(
        "{}: at most {} entries for a message ({}), and {} us to drain ({}), {} the budget of 1 ms", engine,
        short_number(deepest->mean_depth), deepest->scenario, short_number(slowest->drain_us.median),
        slowest->scenario, slowest->drain_us.median <= 1000 ? "within" : "beyond"));
  }
}

}  // namespace

std::vector<std::string> matching_findings(const MatchingResults& results) {
  std::vector<std::string> findings;
  add_bounds(results, findings);
  add_list_depths(results, findings);
  if (results.others > kDisturbingShare)
    findings.push_back(
        fmt::format("other programs ran, which took {:.0f} % of the processors: drain times are not "
                    "comparable, and none is judged",
                    100 * results.others));
  else
    add_drains(results, findings);
  for (const PaperRow& paper : paper_rows()) {
    const std::uint64_t messages = count_halo(parse_decomposition(paper.decomposition)).messages;
    const bool is_shown = std::any_of(results.rows.begin(), results.rows.end(), [&](const MatchingRow& row) {
      return row.scenario == paper.decomposition;
    });
    if (is_shown && paper.messages && *paper.messages != messages)
      findings.push_back(
          fmt::format("{}: the paper prints {} messages; its geometry has {}, with which its times agree",
                      paper.decomposition, *paper.messages, messages));
  }
  return findings;
}

}  // namespace weft::tools::study
