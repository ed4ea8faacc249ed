#include "run/hosts/agent_loop.hpp"

#include <weft/error.hpp>
#include <weft/topology.hpp>
#include <weft/version.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/system_call.hpp"
#include "base/uninterrupted.hpp"
#include "bootstrap/relay/agent.hpp"
#include "bootstrap/relay/frame_link.hpp"
#include "run/hosts/description.hpp"
#include "run/hosts/frames.hpp"
#include "run/ranks/binding.hpp"
#include "run/ranks/environment.hpp"
#include "run/ranks/processes.hpp"
#include "run/ranks/program.hpp"
#include "run/ranks/spawn.hpp"
#include "run/start/start_processors.hpp"
#include "sockets/connecting.hpp"
#include "sockets/tcp_socket.hpp"

namespace weft::tools::run {

namespace {

using bootstrap::relay::FrameHeader;
using bootstrap::relay::FrameLink;

constexpr std::size_t kLongestReport = std::size_t{1} << 20;

sigset_t own_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

sockets::Greeted connect(const Description& job, AgentInbox inbox, const base::Deadline& deadline) {
  const auto root = sockets::decode(job.root);
  if (!root.has_value()) throw Error("the description of the job has no addresses of the launcher");
  const sockets::Caller caller{job.job_id,
                               job.secret,
                               static_cast<std::uint32_t>(job.number),
                               0,
                               static_cast<std::uint8_t>(inbox),
                               job.peer_timeout};
  sockets::Greeted to_root = sockets::connect_to(*root, sockets::list_interfaces(),
                                                 sockets::read_network_namespace(), caller, deadline);
  return to_root;
}

/// What this process was started with concerns the program that has started it, and not the ranks.
OriginalState take_over(const Description& job) {
  OriginalState original;
  take_signal_state();
  original.signals = job.signals;
  const sigset_t blocked = own_signals();
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
  ::getrlimit(RLIMIT_NOFILE, &original.descriptors);
  sockets::raise_file_limit();
  return original;
}

base::Descriptor open_signals() {
  sigset_t signals = own_signals();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      sigdelset(&signals, signal);
  }
  base::Descriptor descriptor{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!descriptor) throw Error("signals cannot be received: " + base::failed_call("signalfd", errno));
  return descriptor;
}

}  // namespace

AgentLoop::AgentLoop(Description job)
    : job_(std::move(job)),
      contact_(job_.contact_seconds),
      original_(take_over(job_)),
      signals_(open_signals()),
      agent_(job_.job_id, job_.ranks, connect(job_, AgentInbox::bootstrap, contact_)),
      link_(connect(job_, AgentInbox::job, contact_), kLongestJobFrame),
      ranks_(static_cast<std::size_t>(job_.count)) {
  window_.fill(kOutputWindow);
  link_.watch(job_.peer_timeout);
  agent_.link().watch(job_.peer_timeout);
}

int AgentLoop::run() {
  try {
    start_ranks();
  } catch (const Error& error) {
    send(JobFrame::trouble, 126, 0, std::as_bytes(std::span(std::string_view(error.what()))));
  }
  while (!is_over()) {
    wait();
    agent_.serve();
    carry_output();
    reap();
    // Behind the last call of serve(): who is to end is not reported a second time.
    while (const auto end = agent_.take_end()) end_rank(end->rank, SIGKILL);
    link_.flush();
    link_.receive([this](const FrameHeader& frame, std::vector<std::byte>& payload) {
      take(frame, payload);
      return true;
    });
    answer_input();
    take_reports();
  }
  kill_descendants();
  hand_over_the_rest();
  return 0;
}

bool AgentLoop::is_over() const {
  return has_to_finish_ || link_.has_ended() || agent_.link().has_ended() || is_abandoned_;
}

void AgentLoop::send(JobFrame kind, int rank, std::uint32_t stream, std::span<const std::byte> payload) {
  link_.send({static_cast<std::uint32_t>(kind), stream, rank, 0}, payload);
}

void AgentLoop::start_ranks() {
  if (::chdir(job_.directory.c_str()) != 0)
    throw Error(fmt::format("host {}: the working directory {} cannot be entered: {}", job_.host,
                            job_.directory, std::strerror(errno)));
  const FoundProgram program = find_program(job_.program, folders());
  if (!program.error.empty()) {
    const std::string text = fmt::format("host {}: {}", job_.host, program.error);
    send(JobFrame::trouble, program.exit_code, 0, std::as_bytes(std::span(text)));
    return;
  }
  Topology host;
  if (job_.binding != Binding::none) host = read_topology();
  try {
    check_variables(job_.environment);  // and those of this host
  } catch (const Error& error) {
    throw Error(fmt::format("host {}: {}", job_.host, error.what()));
  }
  if (job_.binding == Binding::none) starts_ = start_processors(job_.count);
  RankStart start;
  start.path = program.path;
  start.arguments = {job_.program};
  start.arguments.insert(start.arguments.end(), job_.arguments.begin(), job_.arguments.end());
  for (int local_rank = 0; local_rank < job_.count; ++local_rank) start_one(start, host, local_rank);
}

/// Where programs are looked for: in the PATH of the ranks, and then in that of this host.
std::string AgentLoop::folders() const {
  std::string all;
  for (const auto& [name, value] : job_.environment)
    if (name == "PATH") all = value + ":";  // the last one counts
  return all.append(own_folders());
}

void AgentLoop::start_one(RankStart& start, const Topology& host, int local_rank) {
  Rank& rank = ranks_[static_cast<std::size_t>(local_rank)];
  start.rank = job_.first + local_rank;
  const auto joining = agent_.open_for_rank();
  start.inherited = {joining.descriptor.get()};
  Variables own = job_.environment;
  own.emplace_back("WEFT_RANK", std::to_string(start.rank));
  own.emplace_back("WEFT_SIZE", std::to_string(job_.ranks));
  own.emplace_back("WEFT_JOB", agent_.job_id());
  own.emplace_back("WEFT_BOOTSTRAP", agent_.name());
  own.emplace_back("WEFT_BOOTSTRAP_SOCKET", joining.name);
  start.first_processor = starts_.empty() ? -1 : starts_[static_cast<std::size_t>(local_rank)];
  if (!starts_.empty()) own.emplace_back("WEFT_START_PROCESSOR", std::to_string(start.first_processor));
  base::Descriptor explained;
  if (job_.explains) {
    explained = open_explanation(rank, own);
    start.inherited.push_back(explained.get());
  }
  start.environment = environment_with(own);
  start.processors = processors_of(host, job_.binding, local_rank, job_.count);
  start.input = -1;
  if (start.rank == 0) start.input = input_.emplace().read_end().get();
  StartedRank started = start_rank(start, original_);
  if (start.rank == 0) input_->read_end().close();
  rank.process = started.process;
  rank.outputs = {std::move(started.output), std::move(started.errors)};
  send(JobFrame::started, start.rank, static_cast<std::uint32_t>(started.process));
}

base::Descriptor AgentLoop::open_explanation(Rank& rank, Variables& own) {
  int ends[2];
  struct stat status {};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0 || ::fstat(ends[1], &status) != 0)
    throw Error("a socket cannot be opened: " + base::failed_call("socketpair", errno));
  rank.explain = base::Descriptor(ends[0]);
  own.emplace_back("WEFT_EXPLAIN_SOCKET", fmt::format("{}:{}", ends[1], status.st_ino));
  return base::Descriptor(ends[1]);
}

void AgentLoop::wait() {
  std::vector<pollfd> waits = {{signals_.get(), POLLIN, 0},
                               {STDIN_FILENO, POLLIN, 0},
                               {agent_.descriptor(), POLLIN, 0},
                               {agent_.link().descriptor(), events_of(agent_.link()), 0},
                               {link_.descriptor(), events_of(link_), 0}};
  for (const Rank& rank : ranks_)
    for (std::size_t stream = 0; stream < kOutputStreams; ++stream)
      if (rank.outputs[stream] && window_[stream] != 0)
        waits.push_back({rank.outputs[stream].get(), POLLIN, 0});
  for (const Rank& rank : ranks_)
    if (rank.explain) waits.push_back({rank.explain.get(), POLLIN, 0});
  if (input_) waits.push_back({input_->descriptor(), POLLOUT, 0});
  ::poll(waits.data(), waits.size(), look_after_links());
  if (input_) input_->write();
  if (waits[1].revents != 0) {
    // Nothing follows the description: standard input tells that the launcher is there.
    std::array<char, 64> rest;
    if (::read(STDIN_FILENO, rest.data(), rest.size()) <= 0) is_abandoned_ = true;
  }
}

short AgentLoop::events_of(const FrameLink& link) {
  return static_cast<short>(link.wants_room() ? POLLIN | POLLOUT : POLLIN);
}

int AgentLoop::look_after_links() {
  const int one = link_.look_after();
  const int other = agent_.link().look_after();
  return one < 0 || other < 0 ? std::max(one, other) : std::min(one, other);
}

void AgentLoop::reap() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
    if (info.ssi_signo != static_cast<unsigned>(SIGCHLD)) is_abandoned_ = true;
  for (;;) {
    int status = 0;
    const pid_t process = ::waitpid(-1, &status, WNOHANG);
    if (process < 0 && errno == EINTR) continue;
    if (process <= 0) break;
    const auto found = std::find_if(ranks_.begin(), ranks_.end(), [process](const Rank& each) {
      return each.process == process && !each.has_ended;
    });
    if (found == ranks_.end()) continue;
    found->has_ended = true;
    found->status = status;
  }
  for (int local_rank = 0; local_rank < job_.count; ++local_rank) {
    Rank& rank = ranks_[static_cast<std::size_t>(local_rank)];
    if (!rank.has_ended || rank.is_reported) continue;
    // Its last messages and words come first; what processes that it has left write comes later.
    agent_.serve();
    agent_.rank_ended(job_.first + local_rank, describe_end(rank.status));
    for (const OutputStream stream : {OutputStream::output, OutputStream::errors})
      carry_rest(local_rank, stream);
    send(JobFrame::ended, job_.first + local_rank, static_cast<std::uint32_t>(rank.status));
    rank.is_reported = true;
  }
}

void AgentLoop::take(const FrameHeader& frame, std::vector<std::byte>& payload) {
  switch (static_cast<JobFrame>(frame.kind)) {
    case JobFrame::signal: {
      int signal = 0;
      if (payload.size() != sizeof signal) break;
      std::memcpy(&signal, payload.data(), sizeof signal);
      if (frame.stream != 0)
        end_rank(frame.argument, signal);
      else
        for (int local_rank = 0; local_rank < job_.count; ++local_rank)
          end_rank(job_.first + local_rank, signal);
      return;
    }
    case JobFrame::input:
      if (input_) input_->give(payload);
      owes_answer_to_input_ = true;
      return;
    case JobFrame::explain:
      if (const Rank* const rank = find(frame.argument); rank != nullptr && rank->explain)
        static_cast<void>(
            ::send(rank->explain.get(), payload.data(), payload.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
      return;
    case JobFrame::finish:
      has_to_finish_ = true;
      return;
    case JobFrame::taken:
      return take_credit(frame);
    case JobFrame::unread:
      if (frame.stream >= kOutputStreams) break;
      // Who writes there gets SIGPIPE, as without a launcher.
      for (Rank& rank : ranks_) rank.outputs[frame.stream].close();
      return;
    default:
      break;
  }
  link_.end("the launcher has sent a frame of kind " + std::to_string(frame.kind) + " that cannot be");
}

AgentLoop::Rank* AgentLoop::find(int rank) {
  return rank < job_.first || rank >= job_.first + job_.count
             ? nullptr
             : &ranks_[static_cast<std::size_t>(rank - job_.first)];
}

void AgentLoop::end_rank(int number, int signal) {
  const Rank* const rank = find(number);
  if (rank != nullptr && rank->process != 0 && !rank->has_ended) ::kill(-rank->process, signal);
}

/// One piece of input is under way at a time: nothing is read that nobody takes.
void AgentLoop::answer_input() {
  if (!owes_answer_to_input_ || !input_) return;
  const bool reads_no_more = input_->is_closed();
  if (!reads_no_more && !input_->has_room()) return;
  owes_answer_to_input_ = false;
  send(JobFrame::input_taken, 0, reads_no_more ? 1 : 0);
}

void AgentLoop::take_reports() {
  if (!job_.explains) return;
  report_.resize(kLongestReport);
  for (int local_rank = 0; local_rank < job_.count; ++local_rank) {
    Rank& rank = ranks_[static_cast<std::size_t>(local_rank)];
    if (!rank.explain) continue;
    const ssize_t got = ::recv(rank.explain.get(), report_.data(), report_.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0)
      rank.explain.close();
    else
      send(JobFrame::report, job_.first + local_rank, 0,
           std::span(report_).first(static_cast<std::size_t>(got)));
  }
}

}  // namespace weft::tools::run
