// Many messages through one engine, each checked.
#pragma once

#include <cstdint>
#include <functional>

#include "study/matching/matching_results.hpp"
#include "study/matching/model/study_engines.hpp"

namespace weft::tools::study {

struct SoakPlan {
  std::uint64_t messages = 100'000'000;
  int threads = 2;
  std::uint64_t seed = 1;
};

/// Threads post receives and let messages arrive, in orders that the seed decides, each with keys of its own.
/// Throws weft::Error when a message is lost, matched twice, or matched with another receive than the one of
/// its number under its key. `report` is called now and then with the share that is done, 0 to 1.
[[nodiscard]] SoakRow soak(const StudyEngine& engine, const SoakPlan& plan,
                           const std::function<void(double)>& report);

}  // namespace weft::tools::study
