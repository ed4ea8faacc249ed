#pragma once

namespace weft::tools {

// One function per subcommand of `weft`. argv[0] is the subcommand's name; the result is the exit code. They
// may throw weft::Error, which main() prints as one line.

int command_run(int argc, char** argv);
int command_info(int argc, char** argv);
int command_perf(int argc, char** argv);
int command_study(int argc, char** argv);

/// Exit code for a wrong command line.
inline constexpr int kUsageError = 2;

}  // namespace weft::tools
