// `weft run --agent`: starts the ranks of one host, and carries what they and the guardian tell each other.
#pragma once

namespace weft::tools::run {

/// Reads the description of the job from standard input, and ends when the job, the connection to the
/// guardian, or standard input ends; no process of the job is left then. Returns the exit code.
int run_agent();

}  // namespace weft::tools::run
