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

#include "base/parse.hpp"
#include "bootstrap/job_id.hpp"
#include "run/processes.hpp"

namespace weft::tools::run {
namespace {

constexpr double kGrace = 2.0;  // seconds from SIGTERM to SIGKILL
constexpr int kTimedOut = 124;

Descriptor open_signals(sigset_t signals) {
  sigaddset(&signals, SIGCHLD);
  Descriptor descriptor{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!descriptor) throw Error(std::string("signals cannot be received: ") + std::strerror(errno));
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

std::vector<std::string> Guardian::environment_of(int rank, const std::string& explain_socket) const {
  std::vector<std::pair<std::string, std::string>> own = job_.options.environment;
  own.emplace_back("WEFT_RANK", std::to_string(rank));
  own.emplace_back("WEFT_SIZE", std::to_string(job_.options.ranks));
  own.emplace_back("WEFT_JOB", server_.job_id());
  own.emplace_back("WEFT_BOOTSTRAP", server_.name());
  if (!explain_socket.empty()) own.emplace_back("WEFT_EXPLAIN_SOCKET", explain_socket);

  std::map<std::string, std::string, std::less<>> values;
  for (const auto& [name, value] : own) values[name] = value;
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    if (!values.contains(text.substr(0, text.find('=')))) entries.emplace_back(text);
  }
  for (const auto& [name, value] : values) entries.push_back(fmt::format("{}={}", name, value));
  return entries;
}

/// Empty: it may run anywhere.
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
    if (front_has_died()) return;  // thousands of ranks take seconds
    Explanation::RankEnd explained;
    if (explanation_) explained = explanation_->open(rank);
    start.inherited = explained.descriptor.get();
    start.environment = environment_of(rank, explained.name);
    start.inherits_input = rank == 0;
    start.processors = processors_of_rank(host, rank);
    StartedRank started = start_rank(start, job_.original);
    ranks_[static_cast<std::size_t>(rank)].process = started.process;
    rank_of_.emplace(started.process, rank);
    ++running_;
    out_.add(rank, std::move(started.output));
    err_.add(rank, std::move(started.errors));
  }
  // Only rank 0 holds the job's input, so that its writer notices when rank 0 has ended.
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
    check_time();
    check_explanation();
  }
  const bool clean = kill_descendants();
  if (!clean) err_.say("weft run: a process of the job cannot be ended: it is stuck in the kernel");
  if (front_has_died()) return 128 + SIGKILL;
  err_.read_sources();
  tell_failures();
  const bool complete = finish_output();
  return verdict_.value_or(complete ? 0 : 1);
}

bool Guardian::front_has_died() {
  pollfd front{.fd = job_.front.get(), .events = POLLIN, .revents = 0};
  return ::poll(&front, 1, 0) > 0;
}

int Guardian::wait_limit_ms() const {
  std::int64_t limit = INT_MAX;
  const auto consider = [&limit](std::int64_t candidate) {
    if (candidate >= 0) limit = std::min(limit, candidate);
  };
  consider(server_.timeout_ms());
  if (grace_) consider(grace_->remaining_ms());
  if (explanation_) consider(explanation_->remaining_ms());
  if (time_limit_ && !verdict_) consider(time_limit_->remaining_ms());
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
  waits[kFront] = {job_.front.get(), POLLIN, 0};
  waits[kServer] = {server_.descriptor(), POLLIN, 0};
  // poll() ignores negative descriptors: a slow target stops the reading of its sources, nothing else.
  waits[kOutSources] = {out_.wants_input() ? out_.sources() : -1, POLLIN, 0};
  waits[kErrSources] = {err_.wants_input() ? err_.sources() : -1, POLLIN, 0};
  waits[kOutTarget] = {out_.has_pending() ? out_.target() : -1, POLLOUT, 0};
  waits[kErrTarget] = {err_.has_pending() ? err_.target() : -1, POLLOUT, 0};
  waits[kExplain] = {explanation_ ? explanation_->sources() : -1, POLLIN, 0};
  if (::poll(waits.data(), waits.size(), wait_limit_ms()) < 0) return;  // EINTR: the loop comes back

  // Output before the end of its writer, so that a rank's last words stand before the line that tells its
  // end.
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
      rank_ended(found->second, status);  // else an orphan that this process adopted
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
  if (status == 0 || verdict_) return;
  err_.read_sources();
  const std::string line = fmt::format("rank {} (pid {}) {}", rank, ended.process, how);
  if (!job_.options.keep_going) {
    decide(exit_code_of(status), line);
    return;
  }
  if (failures_.empty()) first_failure_ = exit_code_of(status);
  failures_.push_back(line);
}

// With --keep-going, at the job's end: who has failed, in that order.
void Guardian::tell_failures() {
  if (failures_.empty()) return;
  if (!verdict_) verdict_ = first_failure_;
  err_.say(fmt::format("weft run: {} of {} ranks failed: {}", failures_.size(), ranks_.size(),
                       fmt::join(failures_, "; ")));
}

void Guardian::check_abort() {
  if (!server_.aborted() || verdict_) return;
  const auto& abort = *server_.aborted();
  decide(abort.code,
         fmt::format("rank {} (pid {}) aborted the job with code {}: {}", abort.rank,
                     ranks_[static_cast<std::size_t>(abort.rank)].process, abort.code, abort.reason));
}

void Guardian::check_time() {
  if (verdict_ || !time_limit_ || !time_limit_->passed()) return;
  decide(kTimedOut, fmt::format("the job did not end within {} s (--timeout)",
                                base::seconds_text(*job_.options.timeout_seconds)));
}

void Guardian::check_explanation() {
  if (!explanation_) return;
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

// False when the output could not be written completely.
bool Guardian::finish_output() {
  out_.finish_sources();
  err_.finish_sources();
  while (out_.has_pending() || err_.has_pending()) {
    std::array<pollfd, 4> waits{};
    waits[0] = {signals_.get(), POLLIN, 0};
    waits[1] = {job_.front.get(), POLLIN, 0};
    waits[2] = {out_.has_pending() ? out_.target() : -1, POLLOUT, 0};
    waits[3] = {err_.has_pending() ? err_.target() : -1, POLLOUT, 0};
    // A slow reader gets everything, except that --timeout bounds also one that does not read at all.
    const bool bounded = verdict_ == kTimedOut;
    const int ready = ::poll(waits.data(), waits.size(), bounded ? static_cast<int>(kGrace * 1e3) : -1);
    if (ready == 0 || waits[1].revents != 0) return false;
    if (waits[2].revents != 0) out_.write_pending();
    if (waits[3].revents != 0) err_.write_pending();
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo != static_cast<unsigned>(SIGCHLD)) return false;  // the user gives up on the reader
    }
  }
  if (out_.failure().empty()) return err_.failure().empty();
  err_.say("weft run: standard output cannot be written: " + out_.failure());
  err_.write_pending();
  return false;
}

}  // namespace weft::tools::run
