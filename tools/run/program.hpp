#pragma once

#include <string>

namespace weft::tools::run {

/// Where a program was found, or why it cannot be started: with the exit codes of shells, 127 for a program
/// that is not there and 126 for one that cannot be executed.
struct FoundProgram {
  std::string path;
  std::string error;
  int exit_code = 0;
};

/// Looks a name without a slash up in PATH.
FoundProgram find_program(const std::string& name);

}  // namespace weft::tools::run
