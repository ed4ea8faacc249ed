#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "perf/catalogue.hpp"

namespace weft::tools::perf {

struct Options {
  int rounds = 5;
  double seconds = 0.25;  ///< of each round
  std::size_t size = 8;   ///< payload of rate measurements
  bool brief = false;
  bool verify = false;
  std::optional<std::string> json;  ///< file, "-" for standard output
  std::vector<const Measurement*> measurements;
};

/// What is to be done, or the exit code of a call that ends here (help, or a wrong command line with its
/// message).
struct Parsed {
  Options options;
  std::optional<int> exit_code;
};
Parsed parse_options(int argc, char** argv);

}  // namespace weft::tools::perf
