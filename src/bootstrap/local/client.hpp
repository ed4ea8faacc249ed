#pragma once

#include <memory>
#include <string>

#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap {

/// How a rank finds its launcher.
struct LocalJob {
  std::string socket_name;
  std::string id;
  int rank = 0;
  int size = 0;
};

/// From WEFT_BOOTSTRAP, WEFT_JOB, WEFT_RANK and WEFT_SIZE, which `weft run` sets; throws weft::Error when one
/// is missing or not valid.
LocalJob local_job_from_environment();

/// Connects to the launcher. The i-th call of every rank forms one instance of the job.
std::unique_ptr<Bootstrap> join_local(const LocalJob& job, double timeout_seconds);

}  // namespace weft::bootstrap
