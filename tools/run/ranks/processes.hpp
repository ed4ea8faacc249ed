#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace weft::tools::run {

/// Describes a wait status: "exited with code 3" or "was killed by signal 11 (SIGSEGV)".
std::string describe_end(int status);
/// The code with which a shell reports a wait status: the exit code, or 128 plus the signal.
int exit_code_of(int status);

/// All processes below this one, at this moment.
std::vector<pid_t> descendants();

/// Kills and reaps all processes below this one, which is a child subreaper, until none is left; processes in
/// `spared`, and those below them, stay. Returns false when a process could not be ended within seconds.
bool kill_descendants(const std::set<pid_t>& spared = {});

}  // namespace weft::tools::run
