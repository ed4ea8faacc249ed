#include "study/matching/study_engines.hpp"

#include <weft/error.hpp>
#include <weft/matching/algorithm.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "study/matching/algorithms/algorithms.hpp"

namespace weft::tools::study {

std::span<const StudyEngine> study_engines() {
  static const std::vector<StudyEngine> all = [] {
    std::vector<StudyEngine> engines;
    for (const MatchingAlgorithmInfo& algorithm : matching_algorithms())
      engines.push_back({algorithm.name, algorithm.help, true});
    engines.push_back({"hash", "weft's unordered engine: a table of cache lines, no wildcards", false});
    engines.push_back(
        {"ordered", "weft's ordered engine: the same table, with MPI's order and wildcards", true});
    return engines;
  }();
  return all;
}

const StudyEngine& engine_named(std::string_view name) {
  std::string names;
  for (const StudyEngine& engine : study_engines()) {
    if (engine.name == name) return engine;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", engine.name);
  }
  throw Error(fmt::format("there is no matching engine '{}'; there are {}", name, names));
}

OfflineMatchingOptions offline_options(const StudyEngine& engine, std::uint64_t items, int ranks,
                                       bool counters) {
  constexpr std::uint64_t kMost = 1 << 24;
  constexpr std::uint64_t kFewestBuckets = 16'384;  // of a runtime
  // So many that keys which spread at random seldom meet: those of several ranks do.
  const std::uint64_t buckets = std::bit_ceil(std::max(4 * items, kFewestBuckets));
  return {.order = engine.is_ordered ? MatchOrder::ordered : MatchOrder::unordered,
          .algorithm = make_matching_algorithm(engine.name),
          .counters = counters,
          .records = static_cast<std::uint32_t>(std::min(2 * items + 1, kMost)),
          .buckets = static_cast<std::uint32_t>(std::min(buckets, kMost)),
          .ranks = ranks};
}

MatchingEngineOptions engine_options(const StudyEngine& engine, std::uint16_t number, bool counters) {
  const std::uint32_t first = engine.is_ordered ? kMatchingEngines : 0;
  return {.id = static_cast<std::uint16_t>(first + number),
          .order = engine.is_ordered ? MatchOrder::ordered : MatchOrder::unordered,
          .algorithm = make_matching_algorithm(engine.name),
          .counters = counters};
}

}  // namespace weft::tools::study
