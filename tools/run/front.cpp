#include "run/front.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

#include "base/system_call.hpp"
#include "run/explain/explanation.hpp"
#include "run/guardian.hpp"
#include "run/ranks/processes.hpp"

namespace weft::tools::run {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};

// Opens descriptors 0 to 2 if they are closed, so that no pipe gets one of these numbers.
void open_missing_standard_descriptors() {
  int descriptor = 0;
  do {
    descriptor = ::open("/dev/null", O_RDWR);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) ::close(descriptor);
}

// The signals that are forwarded. Signals that this process was started to ignore (nohup, background jobs of
// a shell) stay ignored.
sigset_t forwarded_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

OriginalState take_over(const sigset_t& forwarded, const Options& options) {
  OriginalState original;
  original.signals = take_signal_state();
  sigset_t blocked = forwarded;
  sigaddset(&blocked, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);

  ::getrlimit(RLIMIT_NOFILE, &original.descriptors);
  rlimit raised = original.descriptors;
  raised.rlim_cur = raised.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &raised);
  // Two pipes, a socket, at least one connection and the lent files per rank, plus the descriptors of the
  // launcher itself and of a starting rank.
  const int ranks = options.ranks;
  const bool explains = options.explain_seconds.has_value();
  rlim_t needed = (explains ? 6 : 5) * static_cast<rlim_t>(ranks) + 32;
  // Both ends of each pipe, and connections to every host.
  if (!options.hosts.empty()) needed += static_cast<rlim_t>(ranks) + 8 * options.hosts.size();
  if (raised.rlim_cur < needed) {
    throw Error(fmt::format("{} ranks need {} open files, but the limit is {}: raise `ulimit -n`", ranks,
                            needed, raised.rlim_cur));
  }
  return original;
}

int guard(JobDescription job) {
  ::setsid();
  sigset_t going_on;  // SIGCONT, which would have no visible effect unless it is blocked
  sigemptyset(&going_on);
  sigaddset(&going_on, SIGCONT);
  ::sigprocmask(SIG_BLOCK, &going_on, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "weft-guardian");
  try {
    return Guardian{std::move(job)}.run();
  } catch (const std::exception& error) {
    kill_descendants();
    fmt::print(stderr, "weft run: {}\n", error.what());
    return 1;
  }
}

// Waits for the guardian's end and passes signals on meanwhile; returns its wait status.
int wait_for(pid_t guardian, sigset_t signals) {
  sigaddset(&signals, SIGCHLD);
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(guardian, &status, WNOHANG);
    if (ended == guardian) return status;
    const int signal = ::sigwaitinfo(&signals, nullptr);
    if (signal > 0 && signal != SIGCHLD) ::kill(guardian, signal);
    if (signal == SIGTSTP) {
      ::raise(SIGSTOP);  // returns when this process goes on, and the job with it
      ::kill(guardian, SIGCONT);
    }
  }
}

}  // namespace

int run_job(Options options, std::string program_path) {
  close_channel_of_outer_job();
  open_missing_standard_descriptors();
  const std::vector<pid_t> present = descendants();  // an exec may have given this process children
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const sigset_t forwarded = forwarded_signals();
  const OriginalState original = take_over(forwarded, options);

  int life[2] = {-1, -1};  // this process holds one end for as long as it lives
  if (::pipe2(life, O_CLOEXEC) != 0)
    throw Error("a pipe cannot be opened: " + base::failed_call("pipe2", errno));
  Descriptor watched{life[0]};
  Descriptor held{life[1]};
  std::fflush(nullptr);
  const pid_t front = ::getpid();
  const pid_t guardian = ::fork();
  if (guardian < 0) throw Error("a process cannot be started: " + base::failed_call("fork", errno));
  if (guardian == 0) {
    held.close();
    const int exit_code = guard({.options = std::move(options),
                                 .program_path = std::move(program_path),
                                 .original = original,
                                 .forwarded = forwarded,
                                 .front = std::move(watched),
                                 .front_process = front});
    ::_exit(exit_code);
  }
  watched.close();
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);

  const int status = wait_for(guardian, forwarded);
  kill_descendants({present.begin(), present.end()});
  if (WIFSIGNALED(status)) {
    fmt::print(stderr, "weft run: the guardian process (pid {}) {}; the ranks were ended\n", guardian,
               describe_end(status));
  }
  return exit_code_of(status);
}

}  // namespace weft::tools::run
