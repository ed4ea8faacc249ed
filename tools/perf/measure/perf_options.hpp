#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::tools::perf {

/// Where the ranks run.
struct Hosts {
  std::vector<std::string> names;  ///< two; empty: all ranks run here
  std::string launcher_exec;       ///< starts a program on a host; empty: ssh
};

/// Options of `weft perf`.
struct Options {
  int rounds = 5;
  double seconds = 0.25;          ///< of each round
  double minutes = 0;             ///< of the whole run, up to which undecided bars get further passes
  std::optional<double> warm_up;  ///< warm-up in seconds
  // For workloads that have these parameters; empty: the workload's own values.
  std::vector<std::size_t> sizes;
  std::vector<std::size_t> windows;
  std::vector<int> ranks;
  std::int64_t compute_ns = 0;   ///< busy work before each message
  bool fresh = false;            ///< payloads are written right before their posts
  bool progress_thread = false;  ///< weft has a progress thread
  bool pins = true;              ///< threads are bound to cores
  std::uint64_t seed = 1;        ///< of random numbers; every pass adds one
  Hosts hosts;
  std::vector<std::string> left_out;  ///< measurements that were named and do not leave a host
  bool brief = false;
  bool verify = false;
  bool lists = false;                 ///< --list
  std::optional<std::string> json;    ///< file, "-" for standard output
  std::optional<std::string> report;  ///< folder
};

/// Time before the measured part of a round unless --warm-up says otherwise, in seconds.
constexpr double warm_up_of(double seconds) { return 0.02 + seconds / 10; }

}  // namespace weft::tools::perf
