#pragma once

#include <weft/topology.hpp>

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "bootstrap/local/server.hpp"
#include "run/explanation.hpp"
#include "run/options.hpp"
#include "run/output.hpp"
#include "run/spawn.hpp"

namespace weft::tools::run {

struct JobDescription {
  Options options;
  std::string program_path;
  OriginalState original;
  sigset_t forwarded{};  ///< signals that go to the ranks; blocked in this process
  Descriptor front;      ///< pidfd of the process that the user sees; readable when that has died
};

/// The process that owns a job: parent of all ranks, server of their bootstrap, carrier of their output. One
/// thread, one loop, nothing that blocks. It has a session of its own, so that a terminal's signals reach the
/// ranks only through the front process, and adopts orphans, so that grandchildren are found and ended.
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
  };

  [[nodiscard]] std::vector<int> processors_of_rank(const Topology& host, int rank) const;
  void start_ranks();
  std::vector<std::string> environment_of(int rank, const std::string& explain_socket) const;
  void wait_for_work();
  int wait_limit_ms() const;
  void take_signals();
  void reap();
  void rank_ended(int rank, int status);
  void tell_failures();
  void check_abort();
  void check_time();
  void check_explanation();
  void decide(int exit_code, const std::string& line);
  void signal_ranks(int signal);
  bool front_has_died();
  bool finish_output();

  JobDescription job_;
  bootstrap::local::Server server_;
  Output out_;
  Output err_;
  Descriptor signals_;
  std::vector<Rank> ranks_;
  std::map<pid_t, int> rank_of_;
  int running_ = 0;
  std::optional<int> verdict_;         // the exit code, once something failed
  std::vector<std::string> failures_;  // with --keep-going: who failed, and how
  int first_failure_ = 0;              // its exit code
  std::optional<Explanation> explanation_;
  std::optional<base::Deadline> time_limit_;
  std::optional<base::Deadline> grace_;  // after it, what still runs is killed
};

}  // namespace weft::tools::run
