// Matchings recorded from a program, replayed on other engines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study/matching/matching_results.hpp"
#include "study/matching/model/study_engines.hpp"

namespace weft::tools::study {

/// One thing that happened in an engine.
struct TraceStep {
  enum class Kind : std::uint8_t { post, arrive, cancel, take };
  Kind kind = Kind::post;
  std::uint32_t engine = 0;
  int source = 0;
  std::uint64_t tag = 0;
  std::uint64_t tag_mask = ~std::uint64_t{0};
  std::uint64_t identity = 0;  ///< of a receive that was posted, and of the one that is cancelled
};

struct MatchingTrace {
  std::string name;  ///< of the file, without its folders
  int ranks = 1;
  std::vector<TraceStep> steps;
  [[nodiscard]] bool has_wildcards() const;
};

/// Reads what a program has written with WEFT_MATCHING_TRACE. Throws weft::Error with file and line.
[[nodiscard]] MatchingTrace read_trace(const std::string& path);

/// Replays a trace, `runs` times. Each engine of the trace gets one of this kind. The row has a remark
/// instead of figures where the engine cannot match what the trace contains.
[[nodiscard]] MatchingRow replay_trace(const StudyEngine& engine, const MatchingTrace& trace, int runs);

}  // namespace weft::tools::study
