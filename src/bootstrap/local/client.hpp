#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap {

/// The data by which a rank finds its launcher.
struct LocalJob {
  std::string socket_name;
  std::string inherited_socket = {};  ///< "descriptor:inode"; empty: the launcher gave none
  std::string id;
  int rank = 0;
  int size = 0;
  int served_by = -1;  ///< the rank in whose process the server is; -1: it is in no rank's
};

/// Reads the job from WEFT_BOOTSTRAP, WEFT_BOOTSTRAP_SOCKET, WEFT_JOB, WEFT_RANK and WEFT_SIZE, which `weft
/// run` sets. Throws weft::Error when one is missing or not valid.
LocalJob local_job_from_environment();

/// Connects to the launcher. The i-th calls of all ranks with one name form one instance of the job. Also
/// throws weft::Error when a runtime of this process has the name already; see OpenNames.
std::unique_ptr<Bootstrap> join_local(const LocalJob& job, double timeout_seconds,
                                      std::string_view name = {});

}  // namespace weft::bootstrap
