#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "bootstrap/local/socket.hpp"
#include "run/start/signal_state.hpp"

namespace weft::tools::run {

using bootstrap::local::Descriptor;

/// State that the launcher changed for itself and that a rank gets back.
struct OriginalState {
  SignalState signals;
  rlimit descriptors{};
};

struct RankStart {
  int rank = 0;
  std::string path;
  std::vector<std::string> arguments;    ///< with the program's name
  std::vector<std::string> environment;  ///< NAME=VALUE
  std::vector<int> processors;           ///< to run on; empty for no change
  int first_processor = -1;              ///< to start on, where it is not bound; negative: anywhere
  int input = -1;                        ///< becomes its standard input; negative: it reads from nothing
  std::vector<int> inherited;            ///< descriptors that the rank gets under the same numbers
};

struct StartedRank {
  pid_t process = 0;
  Descriptor output;  ///< read ends, non-blocking
  Descriptor errors;
};

/// Starts a process in a group of its own, which the kernel kills when this process dies, and in a session of
/// its own where it has a processor of its own. Returns after the program has been loaded; throws weft::Error
/// when it cannot be loaded.
StartedRank start_rank(const RankStart& start, const OriginalState& original);

}  // namespace weft::tools::run
