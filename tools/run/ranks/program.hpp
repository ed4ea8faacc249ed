#pragma once

#include <string>
#include <string_view>

namespace weft::tools::run {

/// Result of a search for a program: its path, or the reason why it cannot be started, with the exit codes of
/// shells: 127 for a program that does not exist and 126 for one that cannot be executed.
struct FoundProgram {
  std::string path;
  std::string error;
  int exit_code = 0;
};

/// Finds a program; a name without a slash is looked up in these folders, separated by colons.
FoundProgram find_program(const std::string& name, std::string_view folders);
/// PATH, or what stands for it where it is not set.
std::string_view own_folders();

}  // namespace weft::tools::run
