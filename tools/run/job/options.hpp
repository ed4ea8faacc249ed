#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/job/host_list.hpp"

namespace weft::tools::run {

/// Binding of ranks: they may run anywhere, on one core each, or on the cores of one NUMA node each.
enum class Binding : std::uint8_t { none, core, node };

struct Options {
  int ranks = 0;
  std::optional<double> timeout_seconds;
  std::optional<double> explain_seconds;
  bool tag_output = false;
  Binding binding = Binding::none;
  bool keep_going = false;
  std::vector<std::pair<std::string, std::string>> environment;  ///< set on every rank, in order
  std::vector<Host> hosts;          ///< of several hosts, or of one that the user has named; empty: this one
  std::vector<int> ranks_per_host;  ///< ranks of each host
  std::string launcher_exec;        ///< starts processes on other hosts in place of ssh; empty: none
  std::string program;              ///< as it was written
  std::vector<std::string> arguments;  ///< without the program's name
};

/// The parsed command line, or the exit code of a run that ends here (help, or a wrong command line with its
/// message).
struct Parsed {
  Options options;
  std::optional<int> exit_code;
};
Parsed parse_options(int argc, char** argv);

}  // namespace weft::tools::run
