#pragma once

#include <string>

#include "run/job/options.hpp"

namespace weft::tools::run {

/// Runs a job: forks the guardian, which does the work, and represents it towards the user: passes signals
/// on, returns its exit code, and cleans up if it dies. Each of the two processes ends everything when the
/// other is killed.
int run_job(Options options, std::string program_path);

}  // namespace weft::tools::run
