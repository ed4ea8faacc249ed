#include "run/guardian.hpp"

#include <weft/error.hpp>
#include <weft/topology.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "base/job_variables.hpp"
#include "base/parse.hpp"
#include "base/system_call.hpp"
#include "bootstrap/job_id.hpp"
#include "run/processes.hpp"

namespace weft::tools::run {
namespace {

constexpr double kGrace = 2.0;  // seconds from SIGTERM to SIGKILL
constexpr int kTimedOut = 124;
constexpr int kUnfinished = 1;  // of a rank that ends without having left the job

Descriptor open_signals(sigset_t signals) {
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGCONT);
  Descriptor descriptor{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!descriptor) throw Error("signals cannot be received: " + base::failed_call("signalfd", errno));
  return descriptor;
}

void read_from_nothing() {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) {
    ::dup2(nothing, STDIN_FILENO);
    ::close(nothing);
  }
}

}  // namespace

Guardian::Guardian(JobDescription job)
    : job_(std::move(job)),
      server_(bootstrap::random_job_id(), job_.options.ranks),
      out_(STDOUT_FILENO, job_.options.tag_output),
      err_(STDERR_FILENO, job_.options.tag_output),
      signals_(open_signals(job_.forwarded)),
      ranks_(static_cast<std::size_t>(job_.options.ranks)) {
  if (job_.options.timeout_seconds) time_limit_.emplace(*job_.options.timeout_seconds);
  if (job_.options.explain_seconds) explanation_.emplace(job_.options.ranks, *job_.options.explain_seconds);
}

std::vector<std::string> Guardian::environment_of(int rank, const std::string& socket,
                                                  const std::string& explain_socket) const {
  std::vector<std::pair<std::string, std::string>> own = job_.options.environment;
  own.emplace_back("WEFT_RANK", std::to_string(rank));
  own.emplace_back("WEFT_SIZE", std::to_string(job_.options.ranks));
  own.emplace_back("WEFT_JOB", server_.job_id());
  own.emplace_back("WEFT_BOOTSTRAP", server_.name());
  own.emplace_back("WEFT_BOOTSTRAP_SOCKET", socket);
  if (!explain_socket.empty()) own.emplace_back("WEFT_EXPLAIN_SOCKET", explain_socket);

  std::map<std::string, std::string, std::less<>> values;
  for (const auto& [name, value] : own) values[name] = value;
  // Variables of an outer job, when this launcher runs inside a rank of that job: they are not for its own
  // ranks.
  const auto is_of_outer_job = [](std::string_view name) {
    return std::find(base::kJobVariables.begin(), base::kJobVariables.end(), name) !=
           base::kJobVariables.end();
  };
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::string_view name = text.substr(0, text.find('='));
    if (!values.contains(name) && !is_of_outer_job(name)) entries.emplace_back(text);
  }
  for (const auto& [name, value] : values) entries.push_back(fmt::format("{}={}", name, value));
  return entries;
}

/// The processors that a rank is bound to; empty: it may run anywhere.
std::vector<int> Guardian::processors_of_rank(const Topology& host, int rank) const {
  const auto place = static_cast<std::size_t>(rank);
  if (job_.options.binding == Binding::core && !host.cores.empty())
    return host.cores[place % host.cores.size()].processors;
  if (job_.options.binding != Binding::node || host.cores.empty()) return {};
  const std::vector<int> nodes = numa_nodes_of(host);
  return processors_of_node(host, nodes[place * nodes.size() / static_cast<std::size_t>(job_.options.ranks)]);
}

void Guardian::start_ranks() {
  Topology host;
  if (job_.options.binding != Binding::none) host = read_topology();

  RankStart start;
  start.path = job_.program_path;
  start.arguments = {job_.options.program};
  start.arguments.insert(start.arguments.end(), job_.options.arguments.begin(), job_.options.arguments.end());
  for (int rank = 0; rank < job_.options.ranks; ++rank) {
    if (front_has_died()) return;  // starting thousands of ranks takes seconds
    Explanation::RankEnd explained;
    if (explanation_) explained = explanation_->open(rank);
    start.rank = rank;
    const bootstrap::local::Server::RankEnd joining = server_.open_for_rank();
    start.inherited = {joining.descriptor.get()};
    if (explanation_) start.inherited.push_back(explained.descriptor.get());
    start.environment = environment_of(rank, joining.name, explained.name);
    start.inherits_input = rank == 0;
    start.processors = processors_of_rank(host, rank);
    StartedRank started = start_rank(start, job_.original);
    ranks_[static_cast<std::size_t>(rank)].process = started.process;
    rank_of_.emplace(started.process, rank);
    ++running_;
    out_.add(rank, std::move(started.output));
    err_.add(rank, std::move(started.errors));
  }
  // Only rank 0 has the job's input, so that the writer of the input notices when rank 0 has ended.
  read_from_nothing();
}

int Guardian::run() {
  try {
    start_ranks();
  } catch (const Error& error) {
    signal_ranks(SIGKILL);
    decide(126, error.what());
  }
  while (running_ > 0 && !front_has_died() && !(grace_ && grace_->passed())) {
    wait_for_work();
    check_abort();
    check_unfinished();
    check_unreachable();
    check_time();
    check_explanation();
  }
  const bool clean = kill_descendants();
  if (!clean) err_.say("weft run: a process of the job cannot be ended: it is stuck in the kernel");
  if (front_has_died()) return 128 + SIGKILL;
  err_.read_sources();
  tell_failures();
  tell_losses();
  const bool complete = finish_output();
  return verdict_.value_or(complete ? 0 : 1);
}

bool Guardian::front_has_died() {
  pollfd front{.fd = job_.front.get(), .events = 0, .revents = 0};
  return ::poll(&front, 1, 0) > 0;  // POLLHUP, which is always reported
}

int Guardian::wait_limit_ms() const {
  std::int64_t limit = INT_MAX;
  const auto consider = [&limit](std::int64_t candidate) {
    if (candidate >= 0) limit = std::min(limit, candidate);
  };
  consider(server_.timeout_ms());
  if (grace_) consider(grace_->remaining_ms());
  if (explanation_ && !stopped_since_ns_) consider(explanation_->remaining_ms());
  if (time_limit_ && !verdict_ && !stopped_since_ns_) consider(time_limit_->remaining_ms());
  return limit == INT_MAX ? -1 : static_cast<int>(limit);
}

void Guardian::wait_for_work() {
  enum : std::size_t {
    kSignals,
    kFront,
    kServer,
    kOutSources,
    kErrSources,
    kOutTarget,
    kErrTarget,
    kExplain,
    kCount
  };
  std::array<pollfd, kCount> waits{};
  waits[kSignals] = {signals_.get(), POLLIN, 0};
  waits[kFront] = {job_.front.get(), 0, 0};
  waits[kServer] = {server_.descriptor(), POLLIN, 0};
  // poll() ignores negative descriptors: a slow target only stops the reading of its sources.
  waits[kOutSources] = {out_.wants_input() ? out_.sources() : -1, POLLIN, 0};
  waits[kErrSources] = {err_.wants_input() ? err_.sources() : -1, POLLIN, 0};
  waits[kOutTarget] = {out_.has_pending() ? out_.target() : -1, POLLOUT, 0};
  waits[kErrTarget] = {err_.has_pending() ? err_.target() : -1, POLLOUT, 0};
  waits[kExplain] = {explanation_ ? explanation_->sources() : -1, POLLIN, 0};
  if (::poll(waits.data(), waits.size(), wait_limit_ms()) < 0) return;  // EINTR: the loop calls again

  // Output comes before the end of its writer, so that a rank's last words stand before the line that reports
  // its end.
  if (waits[kOutSources].revents != 0) out_.read_sources();
  if (waits[kErrSources].revents != 0) err_.read_sources();
  if (waits[kOutTarget].revents != 0) out_.write_pending();
  if (waits[kErrTarget].revents != 0) err_.write_pending();
  server_.serve();
  if (waits[kSignals].revents != 0) take_signals();
}

void Guardian::take_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (explanation_ && info.ssi_signo == static_cast<unsigned>(SIGUSR1))
      explanation_->ask();
    else if (info.ssi_signo == static_cast<unsigned>(SIGTSTP))
      stop();
    else if (info.ssi_signo == static_cast<unsigned>(SIGCONT))
      go_on();
    else if (info.ssi_signo != static_cast<unsigned>(SIGCHLD))
      signal_ranks(static_cast<int>(info.ssi_signo));
  }
  reap();
}

void Guardian::reap() {
  for (;;) {
    int status = 0;
    const pid_t process = ::waitpid(-1, &status, WNOHANG);
    if (process < 0 && errno == EINTR) continue;
    if (process <= 0) return;
    const auto found = rank_of_.find(process);
    if (found != rank_of_.end())
      rank_ended(found->second, status);  // otherwise it was an orphan that this process adopted
  }
}

void Guardian::rank_ended(int rank, int status) {
  Rank& ended = ranks_[static_cast<std::size_t>(rank)];
  ended.ended = true;
  rank_of_.erase(ended.process);
  --running_;
  // The rank may have asked for an abort in its last moment.
  server_.serve();
  check_abort();
  const std::string how = describe_end(status);
  server_.rank_ended(rank, how);
  if (explanation_) explanation_->rank_ended(rank, how);
  if (status == 0)
    check_unfinished();
  else
    fail(rank, exit_code_of(status), how);
}

/// Finds ranks that exited with code 0 but failed for the job, because they never left it.
void Guardian::check_unfinished() {
  while (const auto unfinished = server_.take_unfinished()) {
    if (unfinished->is_cut_off)
      fail(unfinished->rank, kUnfinished,
           "exited with code 0, but its connection to the launcher had ended while it ran, and with it its "
           "part in the job: the program has closed descriptors that it did not open, has executed another "
           "program while its weft::Runtime was open, or was a part of a script and ended without leaving");
    else if (unfinished->has_joined)
      fail(unfinished->rank, kUnfinished,
           "exited with code 0 without leaving the job: its weft::Runtime was not destroyed (std::exit and "
           "_exit destroy nothing of main's)");
    else
      fail(unfinished->rank, kUnfinished,
           fmt::format(
               "exited with code 0 before it joined the job, which rank {} has joined: every rank must "
               "make its weft::Runtime",
               unfinished->other));
  }
}

/// Ends ranks that were declared failed although they run: they may not go on as if they were members.
void Guardian::check_unreachable() {
  while (const auto lost = server_.take_unreachable()) {
    const Rank& rank = ranks_[static_cast<std::size_t>(lost->rank)];
    if (rank.ended) continue;
    err_.say(fmt::format("weft run: rank {} (pid {}) is ended, because rank {} cannot reach it: {}",
                         lost->rank, rank.process, lost->by, lost->why));
    ::kill(-rank.process, SIGKILL);
  }
}

/// Notes that a rank has failed. `how` reads "exited with code 3". A rank fails only once, although a rank
/// that was killed has not left the job, either.
void Guardian::fail(int rank, int exit_code, const std::string& how) {
  Rank& failed = ranks_[static_cast<std::size_t>(rank)];
  if (verdict_ || std::exchange(failed.failed, true)) return;
  err_.read_sources();
  const std::string line = fmt::format("rank {} (pid {}) {}", rank, failed.process, how);
  if (!job_.options.keep_going) {
    decide(exit_code, line);
    return;
  }
  if (failures_.empty()) first_failure_ = exit_code;
  failures_.push_back(line);
}

// Reports the ranks that failed, in that order, at the end of a job with --keep-going.
void Guardian::tell_failures() {
  if (failures_.empty()) return;
  if (!verdict_) verdict_ = first_failure_;
  err_.say(fmt::format("weft run: {} of {} ranks failed: {}", failures_.size(), ranks_.size(),
                       fmt::join(failures_, "; ")));
}

// Reports messages that were accepted and have not arrived: the job has then failed, whatever its ranks say.
void Guardian::tell_losses() {
  for (const auto& [rank, what] : server_.losses())
    err_.say(fmt::format("weft run: rank {} (pid {}) had accepted messages that are lost: {}", rank,
                         ranks_[static_cast<std::size_t>(rank)].process, what));
  if (!server_.losses().empty() && !verdict_) verdict_ = 1;
}

void Guardian::check_abort() {
  if (!server_.aborted() || verdict_) return;
  const auto& abort = *server_.aborted();
  decide(abort.code,
         fmt::format("rank {} (pid {}) aborted the job with code {}: {}", abort.rank,
                     ranks_[static_cast<std::size_t>(abort.rank)].process, abort.code, abort.reason));
}

void Guardian::check_time() {
  if (verdict_ || stopped_since_ns_ || !time_limit_ || !time_limit_->passed()) return;
  decide(kTimedOut, fmt::format("the job did not end within {} s (--timeout)",
                                base::seconds_text(*job_.options.timeout_seconds)));
}

void Guardian::check_explanation() {
  if (!explanation_ || stopped_since_ns_) return;
  if (const auto paragraph = explanation_->work())
    err_.say(fmt::format("weft run: the job has not ended. {}", *paragraph));
}

void Guardian::decide(int exit_code, const std::string& line) {
  if (verdict_) return;
  verdict_ = exit_code;
  err_.say("weft run: " + line);
  signal_ranks(SIGTERM);
  signal_ranks(SIGCONT);
  grace_.emplace(kGrace);
}

void Guardian::signal_ranks(int signal) {
  for (const Rank& rank : ranks_) {
    if (rank.process != 0 && !rank.ended) ::kill(-rank.process, signal);
  }
}

/// Stops the ranks. They cannot refuse: a job of which only half of the ranks compute would not be stopped.
/// They have sessions of their own away from the terminal, where SIGTSTP would do nothing.
void Guardian::stop() {
  if (verdict_ || stopped_since_ns_) return;
  signal_ranks(SIGSTOP);
  stopped_since_ns_ = base::now_ns();
}

/// Continues the ranks. The time for which the job was stopped does not count.
void Guardian::go_on() {
  if (!stopped_since_ns_) return;
  const std::int64_t stopped_ns = base::now_ns() - *stopped_since_ns_;
  stopped_since_ns_.reset();
  if (time_limit_) time_limit_->postpone(stopped_ns);
  if (explanation_) explanation_->postpone(stopped_ns);
  signal_ranks(SIGCONT);
}

// Writes the remaining output. Returns false when it could not be written completely.
bool Guardian::finish_output() {
  out_.finish_sources();
  err_.finish_sources();
  while (out_.has_pending() || err_.has_pending()) {
    std::array<pollfd, 4> waits{};
    waits[0] = {signals_.get(), POLLIN, 0};
    waits[1] = {job_.front.get(), 0, 0};
    waits[2] = {out_.has_pending() ? out_.target() : -1, POLLOUT, 0};
    waits[3] = {err_.has_pending() ? err_.target() : -1, POLLOUT, 0};
    // A slow reader gets everything; but --timeout also bounds a reader that does not read at all.
    const bool bounded = verdict_ == kTimedOut;
    const int ready = ::poll(waits.data(), waits.size(), bounded ? static_cast<int>(kGrace * 1e3) : -1);
    if (ready == 0 || waits[1].revents != 0) return false;
    if (waits[2].revents != 0) out_.write_pending();
    if (waits[3].revents != 0) err_.write_pending();
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo != static_cast<unsigned>(SIGCHLD) &&
          info.ssi_signo != static_cast<unsigned>(SIGTSTP) &&
          info.ssi_signo != static_cast<unsigned>(SIGCONT))
        return false;  // the user gives up on the reader
    }
  }
  if (out_.failure().empty()) return err_.failure().empty();
  err_.say("weft run: standard output cannot be written: " + out_.failure());
  err_.write_pending();
  return false;
}

}  // namespace weft::tools::run
