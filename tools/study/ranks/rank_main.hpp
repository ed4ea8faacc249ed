// What the ranks of a study do.
#pragma once

#include <string>

namespace weft::tools::study {

/// Runs the cases of a job, described as JSON {"options": TEXT, "ranks": N, "cases": [{"workload": NAME,
/// ...}]}, or as live_ranks_main() says. Rank 0 writes one line of JSON for each to standard output. Returns
/// the exit code.
int rank_main(const std::string& job);

}  // namespace weft::tools::study
