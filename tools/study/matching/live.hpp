// Live modes: ranks of a job, whose threads send and receive the messages of an exchange.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "study/matching/matching_results.hpp"
#include "study/matching/model/study_engines.hpp"

namespace weft::tools::study {

struct LivePlan {
  std::vector<Decomposition> decompositions;
  bool is_unexpected = false;  ///< the messages come before their receives
  int senders = 1;             ///< ranks
  int runs = 10;
  int warm_ups = 1;
  std::uint64_t seed = 1;
};

/// Each decomposition on an engine of weft, twice: for the depth with counters, for the time without. Throws
/// weft::Error when a message got lost, or matched a receive that is not its own.
[[nodiscard]] std::vector<MatchingRow> live_over_weft(const StudyEngine& engine, const LivePlan& plan);
/// The same over an MPI library, "mpich" or "openmpi": times only. Throws weft::Error when it is not
/// installed.
[[nodiscard]] std::vector<MatchingRow> live_over_mpi(const std::string& launcher, const LivePlan& plan);

/// Depth of a list by the interleaved replay with the same messages: what live modes may be compared with.
[[nodiscard]] double interleaved_depth(const Decomposition& decomposition, std::uint64_t seed);

}  // namespace weft::tools::study
