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
#include <span>
#include <utility>

#include "base/job_variables.hpp"
#include "base/system_call.hpp"
#include "base/text/parse.hpp"
#include "bootstrap/job_id.hpp"
#include "run/ranks/binding.hpp"
#include "run/ranks/environment.hpp"
#include "run/ranks/processes.hpp"
#include "run/start/start_processors.hpp"

namespace weft::tools::run {
namespace {

constexpr double kReaderGrace = 2.0;  // seconds for a reader of the output after --timeout

Descriptor open_signals(sigset_t signals) {
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGCONT);
  Descriptor descriptor{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!descriptor) throw Error("signals cannot be received: " + base::failed_call("signalfd", errno));
  return descriptor;
}

/// The host of each rank; empty: the ranks are all on this one.
std::vector<std::int32_t> hosts_of_ranks(const Options& options) {
  std::vector<std::int32_t> hosts;
  for (std::size_t host = 0; host < options.ranks_per_host.size(); ++host)
    hosts.insert(hosts.end(), static_cast<std::size_t>(options.ranks_per_host[host]),
                 static_cast<std::int32_t>(host));
  return hosts;
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
      server_(bootstrap::random_job_id(), job_.options.ranks, hosts_of_ranks(job_.options)),
      out_(STDOUT_FILENO, job_.options.tag_output),
      err_(STDERR_FILENO, job_.options.tag_output),
      signals_(open_signals(job_.forwarded)),
      ranks_(static_cast<std::size_t>(job_.options.ranks)) {
  if (job_.options.timeout_seconds) time_limit_.emplace(*job_.options.timeout_seconds);
  if (!job_.options.hosts.empty()) remote_.emplace(job_.options, server_);
  if (job_.options.explain_seconds) explanation_.emplace(job_.options.ranks, *job_.options.explain_seconds);
}

std::vector<std::string> Guardian::environment_of(int rank, const std::string& socket,
                                                  const std::string& explain_socket,
                                                  int start_processor) const {
  std::vector<std::pair<std::string, std::string>> own = job_.options.environment;
  own.emplace_back("WEFT_RANK", std::to_string(rank));
  own.emplace_back("WEFT_SIZE", std::to_string(job_.options.ranks));
  own.emplace_back("WEFT_JOB", server_.job_id());
  own.emplace_back("WEFT_BOOTSTRAP", server_.name());
  own.emplace_back("WEFT_BOOTSTRAP_SOCKET", socket);
  if (!explain_socket.empty()) own.emplace_back("WEFT_EXPLAIN_SOCKET", explain_socket);
  if (start_processor >= 0) own.emplace_back("WEFT_START_PROCESSOR", std::to_string(start_processor));

  return environment_with(own);
}

void Guardian::start_ranks() {
  if (!remote_) return start_local_ranks();
  running_ = job_.options.ranks;
  remote_->start(job_.options, job_.original.signals, job_.front_process, out_, err_,
                 explanation_ ? &*explanation_ : nullptr);
  read_from_nothing();
}

void Guardian::start_local_ranks() {
  Topology host;
  if (job_.options.binding != Binding::none) host = read_topology();

  if (input_is_terminal()) {
    typed_.emplace(job_.front_process);
    typed_for_rank_.emplace();
  }
  std::vector<int> starts;
  if (job_.options.binding == Binding::none) starts = start_processors(job_.options.ranks);
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
    start.first_processor = starts.empty() ? -1 : starts[static_cast<std::size_t>(rank)];
    start.environment = environment_of(rank, joining.name, explained.name, start.first_processor);
    start.input = rank != 0 ? -1 : typed_for_rank_ ? typed_for_rank_->read_end().get() : STDIN_FILENO;
    start.processors = processors_of(host, job_.options.binding, rank, job_.options.ranks);
    StartedRank started = start_rank(start, job_.original);
    ranks_[static_cast<std::size_t>(rank)].process = started.process;
    rank_of_.emplace(started.process, rank);
    ++running_;
    out_.add(rank, std::move(started.output));
    err_.add(rank, std::move(started.errors));
  }
  if (typed_for_rank_) typed_for_rank_->read_end().close();
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
    check_refused();
    check_time();
    check_explanation();
  }
  if (remote_) await_remote_output();
  const bool clean = kill_descendants();
  if (!clean) err_.say("weft run: a process of the job cannot be ended: it is stuck in the kernel");
  if (front_has_died()) return 128 + SIGKILL;
  err_.read_sources();
  report_failures();
  report_losses();
  const bool complete = finish_output();
  return verdict_.value_or(complete ? 0 : 1);
}

bool Guardian::front_has_died() {
  pollfd front{.fd = job_.front.get(), .events = 0, .revents = 0};
  return ::poll(&front, 1, 0) > 0;  // POLLHUP, which is always reported
}

int Guardian::wait_limit_ms() {
  std::int64_t limit = INT_MAX;
  const auto consider = [&limit](std::int64_t candidate) {
    if (candidate >= 0) limit = std::min(limit, candidate);
  };
  consider(server_.timeout_ms());
  if (remote_) consider(remote_->remaining_ms());
  if (may_read_typed()) consider(typed_->remaining_ms());
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
    kTyped,
    kTypedTarget,
    kCount
  };
  std::vector<pollfd> waits(kCount);
  waits[kSignals] = {signals_.get(), POLLIN, 0};
  waits[kFront] = {job_.front.get(), 0, 0};
  waits[kServer] = {server_.descriptor(), POLLIN, 0};
  // poll() ignores negative descriptors: a slow target only stops the reading of its sources.
  waits[kOutSources] = {out_.wants_input() ? out_.sources() : -1, POLLIN, 0};
  waits[kErrSources] = {err_.wants_input() ? err_.sources() : -1, POLLIN, 0};
  waits[kOutTarget] = {out_.has_pending() ? out_.target() : -1, POLLOUT, 0};
  waits[kErrTarget] = {err_.has_pending() ? err_.target() : -1, POLLOUT, 0};
  waits[kExplain] = {explanation_ ? explanation_->sources() : -1, POLLIN, 0};
  waits[kTyped] = {may_read_typed() ? typed_->descriptor() : -1, POLLIN, 0};
  waits[kTypedTarget] = {typed_for_rank_ ? typed_for_rank_->descriptor() : -1, POLLOUT, 0};
  if (remote_) remote_->add_waits(waits);
  if (::poll(waits.data(), waits.size(), wait_limit_ms()) < 0) return;  // EINTR: the loop calls again

  // Output comes before the end of its writer, so that a rank's last words stand before the line that reports
  // its end.
  if (waits[kOutSources].revents != 0) out_.read_sources();
  if (waits[kErrSources].revents != 0) err_.read_sources();
  if (waits[kOutTarget].revents != 0) out_.write_pending();
  if (waits[kErrTarget].revents != 0) err_.write_pending();
  if (typed_for_rank_) pass_typed_input();
  server_.serve();
  if (waits[kSignals].revents != 0) take_signals();
  // Last: what has become of processes that start agents is reported by an event.
  if (remote_) work_for_hosts();
}

bool Guardian::may_read_typed() const {
  return typed_ && typed_for_rank_->has_room() && !ranks_.front().ended && !stopped_since_ns_ && !verdict_;
}

void Guardian::pass_typed_input() {
  typed_for_rank_->write();
  if (!may_read_typed()) return;
  std::array<std::byte, 4096> piece;
  const ssize_t got = typed_->read(piece);
  if (got >= 0) typed_for_rank_->give(std::span(piece).first(static_cast<std::size_t>(got)));
}

void Guardian::take_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (explanation_ && info.ssi_signo == static_cast<unsigned>(SIGUSR1))
      explanation_->ask();
    else if (info.ssi_signo == static_cast<unsigned>(SIGTSTP))
      stop();
    else if (info.ssi_signo == static_cast<unsigned>(SIGCONT))
      resume();
    else if (info.ssi_signo != static_cast<unsigned>(SIGCHLD))
      pass_on(static_cast<int>(info.ssi_signo));
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
      rank_ended(found->second, status);
    else if (remote_)
      remote_->process_ended(process, describe_end(status));
    // Otherwise it was an orphan that this process adopted.
  }
}

void Guardian::note_end(int rank) {
  Rank& ended = ranks_[static_cast<std::size_t>(rank)];
  ended.ended = true;
  if (!remote_) rank_of_.erase(ended.process);
  --running_;
}

/// "rank 3 (pid 4711)", and its host when the user has named it.
std::string Guardian::name_of(int rank) const {
  const Rank& named = ranks_[static_cast<std::size_t>(rank)];
  if (!remote_) return fmt::format("rank {} (pid {})", rank, named.process);
  return fmt::format("rank {} (pid {} on {})", rank, named.process, remote_->host_of(rank));
}

void Guardian::rank_ended(int rank, int status) {
  note_end(rank);
  // The rank may have asked for an abort in its last moment.
  server_.serve();
  check_abort();
  const std::string how = describe_end(status);
  server_.rank_ended(rank, how);
  if (explanation_) explanation_->rank_ended(rank, how);
  if (WIFSIGNALED(status) && WTERMSIG(status) == passed_on_) end_by(passed_on_, kGrace);
  if (status == 0)
    check_unfinished();
  else
    fail(rank, exit_code_of(status), how);
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
    const int ready = ::poll(waits.data(), waits.size(), bounded ? static_cast<int>(kReaderGrace * 1e3) : -1);
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
