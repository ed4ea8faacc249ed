// The ranks of a job over several hosts, as the guardian sees them: an agent on every host.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "bootstrap/local/server.hpp"
#include "bootstrap/relay/root.hpp"
#include "run/explain/explanation.hpp"
#include "run/hosts/description.hpp"
#include "run/hosts/frames.hpp"
#include "run/hosts/start_agent.hpp"
#include "run/job/host_list.hpp"
#include "run/ranks/output.hpp"
#include "run/start/input.hpp"
#include "run/start/signal_state.hpp"
#include "sockets/acceptor.hpp"

namespace weft::tools::run {

/// What has happened to ranks of other hosts.
struct RemoteEvent {
  enum class Kind : std::uint8_t {
    started,  // number: the process
    ended,    // number: the wait status
    lost,     // the rank's host is lost; text: how
    trouble,  // the job cannot go on; number: its exit code; text: why
  };
  Kind kind;
  int rank = -1;
  int number = 0;
  std::string text = {};
};

/// Never blocks. The guardian waits for add_waits(), calls work(), and takes events.
/// Sources: remote_job.cpp, remote_traffic.cpp, joining.cpp (hosts that have not joined yet).
class RemoteJob {
 public:
  /// Opens the listener. Throws weft::Error.
  RemoteJob(const Options& options, bootstrap::local::Server& server);
  ~RemoteJob();

  /// Starts the agents; one that cannot be started is an event. Output arrives in `out` and `errors`.
  /// `signals`: what the ranks are started with. `front`: see JobInput.
  void start(const Options& options, const SignalState& signals, pid_t front, Output& out, Output& errors,
             Explanation* explanation);
  void add_waits(std::vector<pollfd>& waits);
  /// Until a host has not joined in time, or there is something else to look at that no descriptor tells of;
  /// at once while there are events; negative: never.
  [[nodiscard]] std::int64_t remaining_ms();
  void work();
  std::optional<RemoteEvent> take_event();
  /// A process has ended. Returns false when it was none of the agents'.
  bool process_ended(pid_t process, const std::string& how);

  /// While the job is stopped, and while it is ended, its input is not read.
  void stop_input(bool is_stopped) { input_is_stopped_ = is_stopped; }
  void signal_all(int signal);
  void signal_rank(int rank, int signal);
  /// Has the agents end, with everything that they have started. Their output still comes.
  void finish();
  /// Returns true when nothing more will come.
  [[nodiscard]] bool has_finished() const;
  [[nodiscard]] const std::string& host_of(int rank) const;

 private:
  struct RemoteRank;
  struct Arrived;
  struct Agent;

  void adopt_connections();
  void work_for(Agent& agent);
  void write_description(Agent& agent);
  void read_words(Agent& agent);
  bool take(Agent& agent, const bootstrap::relay::FrameHeader& frame, std::vector<std::byte>& payload);
  void take_output(Agent& agent, OutputStream stream, int rank, std::vector<std::byte>& piece);
  void pass_output(Agent& agent);
  [[nodiscard]] bool may_read_input() const;
  void pass_explanations(Agent& agent);
  void pass_input();
  void lose(Agent& agent, std::string why);
  void note_stage(Agent& agent);
  void check_time();
  void give_up(Agent& agent, int exit_code, const std::string& why);
  [[nodiscard]] std::string stage_text(const Agent& agent) const;
  Agent& agent_of(int rank);

  bootstrap::local::Server& server_;
  const double contact_seconds_;
  const double peer_timeout_;
  std::vector<sockets::Interface> interfaces_;
  sockets::Acceptor acceptor_;
  std::array<sockets::Inbox, 2> inboxes_;  // by AgentInbox
  std::vector<std::unique_ptr<Agent>> agents_;
  std::vector<int> agent_of_rank_;
  std::deque<RemoteEvent> events_;
  Explanation* explanation_ = nullptr;
  std::array<Output*, kOutputStreams> outputs_{};
  std::optional<JobInput> input_;
  bool input_is_stopped_ = false;
  bool may_send_input_ = true;
  bool has_sent_all_input_ = false;
};

}  // namespace weft::tools::run
