#pragma once

#include <optional>
#include <vector>

#include "perf/libraries/catalogue.hpp"
#include "perf/measure/perf_options.hpp"

namespace weft::tools::perf {

/// The parsed command line, or the exit code of a call that ends here (help, or a wrong command line with its
/// message).
struct Parsed {
  Options options;
  std::vector<const Measurement*> measurements;
  std::optional<int> exit_code;
};
Parsed parse_command_line(int argc, char** argv);

}  // namespace weft::tools::perf
