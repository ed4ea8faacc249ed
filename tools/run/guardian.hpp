#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "bootstrap/local/server.hpp"
#include "run/explain/explanation.hpp"
#include "run/hosts/remote_job.hpp"
#include "run/job/options.hpp"
#include "run/ranks/output.hpp"
#include "run/ranks/spawn.hpp"
#include "run/start/input.hpp"

namespace weft::tools::run {

inline constexpr int kTimedOut = 124;  // exit code
inline constexpr double kGrace = 2.0;  // seconds from SIGTERM to SIGKILL

struct JobDescription {
  Options options;
  std::string program_path;
  OriginalState original;
  sigset_t forwarded{};  ///< signals that go to the ranks; blocked in this process
  Descriptor front;      ///< of a pipe; hung up when the process that the user sees has died
  pid_t front_process = 0;
};

/// The process that owns a job: it is the parent of all ranks, serves their bootstrap, and carries their
/// output. One thread, one loop, no blocking calls. It has a session of its own, so that a terminal's signals
/// reach the ranks only through the front process, and adopts orphans, so that grandchildren are found and
/// ended. Of a job over several hosts the ranks are processes of agents (run/hosts).
/// Sources: guardian.cpp, guardian_verdict.cpp (who has failed, and how the job ends), guardian_hosts.cpp.
class Guardian {
 public:
  explicit Guardian(JobDescription job);

  /// Starts the ranks, waits for the end of the job, and leaves no process behind; the result is the job's
  /// exit code.
  int run();

 private:
  struct Rank {
    pid_t process = 0;
    bool ended = false;
    bool failed = false;  // the rank has failed, and that has been reported
  };

  void start_ranks();
  void start_local_ranks();
  std::vector<std::string> environment_of(int rank, const std::string& socket,
                                          const std::string& explain_socket, int start_processor) const;
  void wait_for_work();
  void pass_typed_input();
  [[nodiscard]] bool may_read_typed() const;
  // guardian_hosts.cpp
  void work_for_hosts();
  void take_remote_events();
  void await_remote_output();
  int wait_limit_ms();
  void take_signals();
  void reap();
  void rank_ended(int rank, int status);
  void note_end(int rank);
  [[nodiscard]] std::string name_of(int rank) const;
  void check_unfinished();
  void fail_unfinished(const bootstrap::local::Findings::Unfinished& rank);
  void check_unreachable();
  void check_refused();
  void fail(int rank, int exit_code, const std::string& how);
  void report_failures();
  void report_losses();
  void check_abort();
  void check_time();
  void check_explanation();
  void decide(int exit_code, const std::string& line, double grace_seconds = kGrace);
  void signal_ranks(int signal);
  void pass_on(int signal);
  void end_by(int signal, double grace_seconds);
  void end_rank(int rank);
  void stop();
  void resume();
  bool front_has_died();
  bool finish_output();

  JobDescription job_;
  bootstrap::local::Server server_;
  Output out_;
  Output err_;
  std::optional<RemoteJob> remote_;  // the ranks are on hosts that the user has named
  std::optional<JobInput> typed_;    // of ranks of this host, from a terminal; otherwise rank 0 has the input
  std::optional<RankInput> typed_for_rank_;
  Descriptor signals_;
  std::vector<Rank> ranks_;
  std::map<pid_t, int> rank_of_;
  int running_ = 0;
  std::vector<bootstrap::local::Findings::Unfinished> unfinished_;  // whose way to end is not known yet
  int passed_on_ = 0;                  // the last signal that was passed on and ends processes
  std::optional<int> verdict_;         // the exit code, once a rank has failed
  std::vector<std::string> failures_;  // with --keep-going: the ranks that failed, and how
  int first_failure_ = 0;              // exit code of the first failure
  std::optional<Explanation> explanation_;
  std::optional<base::Deadline> time_limit_;
  std::optional<base::Deadline> grace_;  // at its end, processes that still run are killed
  std::optional<std::int64_t> stopped_since_ns_;
};

}  // namespace weft::tools::run
