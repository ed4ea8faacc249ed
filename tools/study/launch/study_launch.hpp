// Starts the ranks of a study, and reads what they answer.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiment/launch/child_process.hpp"

namespace weft::tools::study {

/// What a rank has said, before its launcher has reported that it ended.
[[nodiscard]] std::string reason_of(const Ended& ended);

/// Runs `weft study --rank JOB` as job.at("ranks") ranks and returns the lines of JSON that they have
/// written. `launcher`: `weft run`, or a launcher of MPI with its own arguments. Throws weft::Error, which
/// begins with `name`, when a rank fails or the job takes longer.
[[nodiscard]] std::vector<nlohmann::json> run_ranks(const std::string& name,
                                                    const std::vector<std::string>& launcher,
                                                    const nlohmann::json& job, double seconds);

}  // namespace weft::tools::study
