// Rows of a matching study grouped into tables: a scenario a line, an engine a column.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "study/matching/matching_results.hpp"

namespace weft::tools::study {

/// All rows of one mode, order and number of senders.
struct MatchingGroup {
  std::string name;   ///< for files: "replay-random"
  std::string title;  ///< "Replay, messages arrive in random order"
  std::vector<std::string> scenarios;
  std::vector<std::string> engines;
  std::vector<const MatchingRow*> rows;

  /// Null where an engine has no row for a scenario.
  [[nodiscard]] const MatchingRow* find(const std::string& scenario, const std::string& engine) const;
  /// Any row of the scenario, for what does not depend on the engine.
  [[nodiscard]] const MatchingRow& any(const std::string& scenario) const;
};

[[nodiscard]] std::vector<MatchingGroup> groups_of(const MatchingResults& results);

/// A figure of rows, in the unit that `title` names; nothing where a row does not have it.
struct MatchingFigure {
  const char* name;
  const char* title;
  std::optional<double> (*of)(const MatchingRow& row);
};

/// Depth, and drain time.
[[nodiscard]] const std::vector<MatchingFigure>& matching_figures();

/// Bound and paper's time of a scenario, from whichever of its rows has them.
[[nodiscard]] std::optional<double> bound_of(const MatchingGroup& group, const std::string& scenario);
[[nodiscard]] std::optional<double> simulated_of(const MatchingGroup& group, const std::string& scenario);
[[nodiscard]] std::optional<double> paper_depth_of(const MatchingGroup& group, const std::string& scenario);
[[nodiscard]] std::optional<double> paper_us_of(const MatchingGroup& group, const std::string& scenario);

/// Three digits, in tables: "1.02", "1540", "0.034".
[[nodiscard]] std::string short_number(double value);

}  // namespace weft::tools::study
