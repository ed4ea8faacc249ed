// An agent and its ranks, as the guardian keeps them. Private to the sources of RemoteJob.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "bootstrap/relay/frame_link.hpp"
#include "bootstrap/relay/root.hpp"
#include "run/hosts/frames.hpp"
#include "run/hosts/remote_job.hpp"

namespace weft::tools::run {

struct RemoteJob::RemoteRank {
  base::Descriptor explain;  // the rank's end of the socket of Explanation
  bool has_ended = false;
};

/// How far the start of an agent has come. Each is known from something that has been seen.
enum class StartStage : std::uint8_t {
  begun,  ///< the command that starts it runs; nothing has come from the host
  shell,  ///< the shell of the host runs the rest of the command
  agent,  ///< the agent runs; it connects to this process by itself
};

/// Output of an agent's ranks, of one stream, that has come and is not passed on yet: while the reader
/// pauses, and of kOutputWindow bytes at most.
struct RemoteJob::Arrived {
  struct Piece {
    int rank = 0;
    std::vector<std::byte> bytes;  // none: the end
  };
  std::deque<Piece> pieces;
  std::size_t bytes = 0;     // of the pieces
  std::size_t credited = 0;  // passed on, and not yet reported to the agent
  bool has_sent_unread = false;
};

struct RemoteJob::Agent {
  Host host;
  int number = 0;
  int first = 0;
  std::vector<RemoteRank> ranks;
  StartedAgent started;
  std::string command;
  std::string unsent;  // of the description
  StartStage stage = StartStage::begun;
  base::Deadline contact{0};  // until then it must have come to the next stage
  std::string words;          // that it has printed
  std::unique_ptr<bootstrap::relay::RemoteHost> bootstrap;
  std::unique_ptr<bootstrap::relay::FrameLink> link;
  std::array<Arrived, kOutputStreams> arrived;
  std::vector<RemoteEvent> ends;  // of ranks whose last messages have not come yet over the other connection
  bool is_lost = false;

  [[nodiscard]] bool is_joined() const { return bootstrap != nullptr && link != nullptr; }
  [[nodiscard]] bool is_awaited() const { return !is_joined() && !is_lost; }
};

}  // namespace weft::tools::run
