// The work of an agent: it starts the ranks of its host, and carries what they and the guardian tell each
// other.
#pragma once

#include <weft/topology.hpp>

#include <sys/types.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "bootstrap/relay/agent.hpp"
#include "bootstrap/relay/frame_link.hpp"
#include "run/hosts/description.hpp"
#include "run/hosts/frames.hpp"
#include "run/ranks/environment.hpp"
#include "run/ranks/spawn.hpp"
#include "run/start/input.hpp"

namespace weft::tools::run {

/// Sources: agent_loop.cpp, agent_output.cpp.
class AgentLoop {
 public:
  /// Throws weft::Error.
  explicit AgentLoop(Description job);
  /// Until the job, the connection to the guardian, or standard input ends; no process is left then. Returns
  /// the exit code.
  int run();

 private:
  struct Rank {
    pid_t process = 0;
    std::array<base::Descriptor, kOutputStreams> outputs;
    base::Descriptor explain;
    int status = 0;
    bool has_ended = false;
    bool is_reported = false;  // its end
  };

  [[nodiscard]] bool is_over() const;
  void send(JobFrame kind, int rank, std::uint32_t stream, std::span<const std::byte> payload = {});
  void start_ranks();
  [[nodiscard]] std::string folders() const;
  void start_one(RankStart& start, const Topology& host, int local_rank);
  base::Descriptor open_explanation(Rank& rank, Variables& own);
  void wait();
  /// Returns milliseconds after which to look again; negative: none.
  int look_after_links();
  static short events_of(const bootstrap::relay::FrameLink& link);
  void carry_output();
  /// Returns true when a piece was sent.
  bool carry(int local_rank, OutputStream stream);
  void carry_rest(int local_rank, OutputStream stream);
  /// No process writes any more. The guardian gets everything, however slow its reader is.
  void hand_over_the_rest();
  void reap();
  void take(const bootstrap::relay::FrameHeader& frame, std::vector<std::byte>& payload);
  Rank* find(int rank);
  void end_rank(int number, int signal);
  void answer_input();
  void take_credit(const bootstrap::relay::FrameHeader& frame);
  void take_reports();

  Description job_;
  base::Deadline contact_;  // until then the guardian must be reached
  OriginalState original_;
  base::Descriptor signals_;
  bootstrap::relay::Agent agent_;
  bootstrap::relay::FrameLink link_;
  std::vector<Rank> ranks_;
  std::vector<int> starts_;         // processors on which the ranks start; empty: anywhere
  std::optional<RankInput> input_;  // of rank 0
  bool owes_answer_to_input_ = false;
  std::array<std::size_t, kOutputStreams> window_;  // bytes that the guardian takes now
  std::size_t first_served_ = 0;                    // local rank whose turn comes first
  std::vector<std::byte> report_;                   // of a rank, as it comes
  bool has_to_finish_ = false;
  bool is_abandoned_ = false;
};

}  // namespace weft::tools::run
