#pragma once

#include <string>

#include "run/options.hpp"

namespace weft::tools::run {

/// Runs a job: forks the guardian, which does the work, and stands in for it towards the user: passes signals
/// on, returns its exit code, and cleans up after it should it die. Each of the two ends everything when the
/// other is killed.
int run_job(Options options, std::string program_path);

}  // namespace weft::tools::run
