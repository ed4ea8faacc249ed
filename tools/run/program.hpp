#pragma once

#include <string>

namespace weft::tools::run {

/// Result of a search for a program: its path, or the reason why it cannot be started, with the exit codes of
/// shells: 127 for a program that does not exist and 126 for one that cannot be executed.
struct FoundProgram {
  std::string path;
  std::string error;
  int exit_code = 0;
};

/// Finds a program; a name without a slash is looked up in PATH.
FoundProgram find_program(const std::string& name);

}  // namespace weft::tools::run
