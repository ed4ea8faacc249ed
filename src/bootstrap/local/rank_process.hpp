// A rank is one process: others that have its environment are none.
#pragma once

#include <sys/types.h>

#include <string>

namespace weft::bootstrap::local {

/// Returns true when a process has not ended; a zombie, for which its parent has not waited yet, has ended.
bool is_running(pid_t process);
/// Why a process that asks to join as a rank is none, while another process, which is that rank, runs.
std::string why_no_rank(pid_t process, int rank, pid_t process_of_rank);

}  // namespace weft::bootstrap::local
