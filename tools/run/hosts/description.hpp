// What the agent of a host must know. It travels through the agent's standard input: a command line and an
// environment can be seen by other users.
#pragma once

#include "bootstrap/bootstrap.hpp"
#include "run/job/options.hpp"
#include "run/start/signal_state.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace weft::tools::run {

struct Description {
  std::string version;  // of weft, the same on all hosts
  std::string host;     // as the user named it
  int number = 0;       // of the host
  int hosts = 1;
  int ranks = 0;  // of the job
  int first = 0;  // rank of this host
  int count = 0;  // ranks of this host
  std::string job_id;
  bootstrap::Secret secret{};
  std::vector<std::byte> root;  // sockets::encode()
  double contact_seconds = 30;  // in which the root must be reached
  double peer_timeout = 20;
  std::string directory;
  std::string program;  // as the user wrote it
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  // on top of that of the agent
  Binding binding = Binding::none;
  bool explains = false;
  SignalState signals;  // of the launcher's start, for the ranks
};

/// One line, with the line break. Names, arguments and the environment may be any bytes, so they are written
/// in hexadecimal digits.
std::string to_line(const Description& description);
/// Throws weft::Error when the line is no description, or that of another version of weft.
Description parse_description(const std::string& line);

}  // namespace weft::tools::run
