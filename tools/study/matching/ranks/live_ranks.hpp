// The ranks of `weft study matching`'s live modes.
#pragma once

#include <nlohmann/json.hpp>

namespace weft::tools::study {

/// Runs the cases of a job, {"matching": "weft" or "mpi", "ranks": N, "signs": PATH, "cases": [...]}. Rank 0
/// writes one line of JSON for each to standard output. Throws weft::Error when a message is wrong.
void live_ranks_main(const nlohmann::json& job);

/// The two kinds of ranks.
void run_over_weft(const nlohmann::json& job);
void run_over_mpi(const nlohmann::json& job);

}  // namespace weft::tools::study
