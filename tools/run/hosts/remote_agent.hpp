// An agent and its ranks, as the guardian keeps them. Private to the sources of RemoteJob.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "bootstrap/relay/frame_link.hpp"
#include "bootstrap/relay/root.hpp"
#include "run/hosts/remote_job.hpp"

namespace weft::tools::run {

struct RemoteJob::RemoteRank {
  base::Descriptor output;  // write ends of pipes that Output reads
  base::Descriptor errors;
  base::Descriptor explain;  // the rank's end of the socket of Explanation
  bool has_ended = false;
};

struct RemoteJob::Agent {
  Host host;
  int number = 0;
  int first = 0;
  std::vector<RemoteRank> ranks;
  StartedAgent started;
  std::string command;
  std::string unsent;  // of the description
  std::string words;   // that it has printed
  std::unique_ptr<bootstrap::relay::RemoteHost> bootstrap;
  std::unique_ptr<bootstrap::relay::FrameLink> link;
  base::Descriptor* blocked = nullptr;  // the pipe that has no room
  std::vector<std::byte> rest;          // of the piece for it
  std::vector<RemoteEvent> ends;  // of ranks whose last messages have not come yet over the other connection
  bool is_lost = false;

  [[nodiscard]] bool is_joined() const { return bootstrap != nullptr && link != nullptr; }
};

}  // namespace weft::tools::run
