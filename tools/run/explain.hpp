// Who waits for whom: the reports of the ranks, made one paragraph.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft::tools::run {

/// What the launcher knows of a rank.
struct RankAnswer {
  std::optional<std::string> report;  ///< what the rank has told: one JSON object (docs/diagnosis.md)
  std::string end;                    ///< "exited with code 0"; empty while it runs
};

/// One paragraph without line breaks: where ranks wait, for which messages of which ranks, and whether they
/// wait for each other in a circle. `answers`: by rank. A report that is not understood counts as none.
std::string explain(const std::vector<RankAnswer>& answers);

}  // namespace weft::tools::run
