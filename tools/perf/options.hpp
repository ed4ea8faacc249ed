#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perf/catalogue.hpp"

namespace weft::tools::perf {

struct Options {
  int rounds = 5;
  double seconds = 0.25;          ///< of each round
  double minutes = 0;             ///< of the whole run, up to which undecided bars get further passes
  std::optional<double> warm_up;  ///< seconds before that
  // Of the workloads that take them; empty: each one's own.
  std::vector<std::size_t> sizes;
  std::vector<std::size_t> windows;
  std::vector<int> ranks;
  std::int64_t compute_ns = 0;   ///< busy work before each message
  bool fresh = false;            ///< payloads are written right before their posts
  bool progress_thread = false;  ///< of weft
  bool pins = true;              ///< threads are bound to cores
  std::uint64_t seed = 1;        ///< of what is random; every pass adds one
  bool brief = false;
  bool verify = false;
  std::optional<std::string> json;    ///< file, "-" for standard output
  std::optional<std::string> report;  ///< folder
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
