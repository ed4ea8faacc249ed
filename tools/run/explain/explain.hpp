// Which ranks wait for which: the reports of the ranks, combined into one paragraph.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft::tools::run {

/// The launcher's knowledge of a rank.
struct RankAnswer {
  std::optional<std::string> report;  ///< the rank's report: one JSON object (docs/guide/diagnosis.md)
  std::string end;                    ///< "exited with code 0"; empty while the rank runs
};

/// Returns one paragraph without line breaks: where ranks wait, for which messages of which ranks, and
/// whether they wait for each other in a circle. `answers`: by rank. A report that is not understood counts
/// as none.
std::string explain(const std::vector<RankAnswer>& answers);

}  // namespace weft::tools::run
