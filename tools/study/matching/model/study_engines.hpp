// The engines that `weft study matching` compares.
#pragma once

#include <weft/matching.hpp>
#include <weft/matching/offline.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::tools::study {

struct StudyEngine {
  std::string_view name;
  std::string_view help;   ///< one line
  bool is_ordered = true;  ///< has MPI's order and wildcards
  /// Of an algorithm from a library: its file, by which ranks find it, and what makes it.
  std::string_view file = {};
  MatchingAlgorithm* (*make)() = nullptr;
};

/// The study's algorithms, and weft's own engines, `hash` and `ordered`.
[[nodiscard]] std::span<const StudyEngine> study_engines();
/// The engine of a library that says WEFT_MATCHING_ALGORITHM (weft/matching/plugin.hpp), named as its file is
/// without lib and ending. Stays loaded. Throws weft::Error, in one line with the reason.
[[nodiscard]] const StudyEngine& engine_of_library(const std::string& file);
/// The engine of the study with that name, or of the library in that file where the name has a slash. Throws
/// weft::Error for an unknown name.
[[nodiscard]] const StudyEngine& engine_named(std::string_view name);

/// An engine without a network for so many receives or messages at a time.
[[nodiscard]] OfflineMatchingOptions offline_options(const StudyEngine& engine, std::uint64_t items,
                                                     int ranks, bool counters);
/// Opens the engine in a runtime. Its id is `number` among the engines of its order.
[[nodiscard]] MatchingEngineOptions engine_options(const StudyEngine& engine, std::uint16_t number,
                                                   bool counters);

}  // namespace weft::tools::study
