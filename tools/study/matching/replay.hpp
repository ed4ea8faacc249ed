// Messages in a given order, fed to an engine without a network.
#pragma once

#include <cstdint>
#include <string>

#include "study/matching/matching_results.hpp"
#include "study/matching/model/orders.hpp"
#include "study/matching/model/study_engines.hpp"

namespace weft::tools::study {

struct ReplayPlan {
  Decomposition decomposition;
  ArrivalOrder order = ArrivalOrder::random;
  int senders = 1;  ///< ranks, to which the sending threads are dealt in turn
  int runs = 10;
  std::uint64_t seed = 1;
};

[[nodiscard]] const char* name_of(ArrivalOrder order);
/// Throws weft::Error for an unknown name.
[[nodiscard]] ArrivalOrder arrival_order_named(std::string_view name);

/// All receives are posted, then all messages arrive: for the depth with counters, for the time without.
/// Throws weft::Error when a message matches a receive that is not its own.
[[nodiscard]] MatchingRow replay(const StudyEngine& engine, const ReplayPlan& plan);

}  // namespace weft::tools::study
