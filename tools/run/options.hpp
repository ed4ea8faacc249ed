#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::tools::run {

struct Options {
  int ranks = 0;
  std::optional<double> timeout_seconds;
  bool tag_output = false;
  bool bind_to_cores = false;
  std::vector<std::pair<std::string, std::string>> environment;  ///< set on every rank, in order
  std::string program;                                           ///< as it was written
  std::vector<std::string> arguments;                            ///< without the program's name
};

/// What is to be done, or the exit code of a run that ends here (help, or a wrong command line with its
/// message).
struct Parsed {
  Options options;
  std::optional<int> exit_code;
};
Parsed parse_options(int argc, char** argv);

}  // namespace weft::tools::run
