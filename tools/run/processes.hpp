#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace weft::tools::run {

/// "exited with code 3" or "was killed by signal 11 (SIGSEGV)", from a wait status.
std::string describe_end(int status);
/// The code with which a shell reports that status: the exit code, or 128 and the signal.
int exit_code_of(int status);

/// All processes below this one, at this moment.
std::vector<pid_t> descendants();

/// Kills and reaps everything below this process, which is a child subreaper, until nothing is left; what is
/// in `spared`, and whatever is below that, stays. False when something could not be ended within seconds.
bool kill_descendants(const std::set<pid_t>& spared = {});

}  // namespace weft::tools::run
