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
#include "bootstrap/relay/agent.hpp"
#include "bootstrap/relay/frame_link.hpp"
#include "run/binding.hpp"
#include "run/environment.hpp"
#include "run/hosts/description.hpp"
#include "run/hosts/frames.hpp"
#include "run/processes.hpp"
#include "run/program.hpp"
#include "run/spawn.hpp"
#include "sockets/connecting.hpp"
#include "sockets/tcp_socket.hpp"

namespace weft::tools::run {

namespace {

using bootstrap::relay::FrameHeader;
using bootstrap::relay::FrameLink;

constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr std::size_t kMostWaiting = std::size_t{1} << 20;  // bytes of output that the guardian has not taken
constexpr std::size_t kLongestReport = std::size_t{1} << 20;

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
  sockets::end_when_unanswered(to_root.socket.get(), job.peer_timeout);
  return to_root;
}

OriginalState take_over() {
  OriginalState original;
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&blocked, signal);
  ::sigprocmask(SIG_BLOCK, &blocked, &original.signal_mask);
  ::getrlimit(RLIMIT_NOFILE, &original.descriptors);
  sockets::raise_file_limit();
  return original;
}

base::Descriptor open_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  base::Descriptor descriptor{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!descriptor) throw Error("signals cannot be received: " + base::failed_call("signalfd", errno));
  return descriptor;
}

/// While it lives, standard input is a pipe, which rank 0 inherits.
class OtherInput {
 public:
  OtherInput() : own_(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) {
    int ends[2];
    if (!own_ || ::pipe2(ends, O_CLOEXEC) != 0)
      throw Error("a pipe cannot be opened: " + base::failed_call("pipe2", errno));
    const base::Descriptor read_end(ends[0]);
    write_end_ = base::Descriptor(ends[1]);
    ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    ::dup2(read_end.get(), STDIN_FILENO);
  }
  ~OtherInput() { ::dup2(own_.get(), STDIN_FILENO); }
  OtherInput(const OtherInput&) = delete;
  OtherInput& operator=(const OtherInput&) = delete;
  base::Descriptor take_write_end() { return std::move(write_end_); }

 private:
  base::Descriptor own_;
  base::Descriptor write_end_;
};

}  // namespace

AgentLoop::AgentLoop(Description job)
    : job_(std::move(job)),
      contact_(job_.contact_seconds),
      original_(take_over()),
      signals_(open_signals()),
      agent_(job_.job_id, job_.ranks, connect(job_, AgentInbox::bootstrap, contact_)),
      link_(connect(job_, AgentInbox::job, contact_), kLongestJobFrame),
      ranks_(static_cast<std::size_t>(job_.count)) {}

int AgentLoop::run() {
  try {
    start_ranks();
  } catch (const Error& error) {
    tell(JobFrame::trouble, 126, 0, std::as_bytes(std::span(std::string_view(error.what()))));
  }
  while (!is_over()) {
    wait();
    agent_.serve();
    carry_output();
    reap();
    // Behind the last call of serve(): who is to end is not told of a second time.
    while (const auto end = agent_.take_end()) end_rank(end->rank, SIGKILL);
    link_.flush();
    link_.receive([this](const FrameHeader& frame, std::vector<std::byte>& payload) {
      take(frame, payload);
      return true;
    });
    give_input();
    take_reports();
  }
  kill_descendants();
  hand_over_the_rest();
  return 0;
}

bool AgentLoop::is_over() const {
  return has_to_finish_ || link_.has_ended() || agent_.link().has_ended() || is_abandoned_;
}

void AgentLoop::tell(JobFrame kind, int rank, std::uint32_t stream, std::span<const std::byte> payload) {
  link_.send({static_cast<std::uint32_t>(kind), stream, rank, 0}, payload);
}

void AgentLoop::start_ranks() {
  if (::chdir(job_.directory.c_str()) != 0)
    throw Error(fmt::format("host {}: the working directory {} cannot be entered: {}", job_.host,
                            job_.directory, std::strerror(errno)));
  const FoundProgram program = find_program(job_.program, folders());
  if (!program.error.empty()) {
    const std::string text = fmt::format("host {}: {}", job_.host, program.error);
    tell(JobFrame::trouble, program.exit_code, 0, std::as_bytes(std::span(text)));
    return;
  }
  Topology host;
  if (job_.binding != Binding::none) host = read_topology();
  RankStart start;
  start.path = program.path;
  start.arguments = {job_.program};
  start.arguments.insert(start.arguments.end(), job_.arguments.begin(), job_.arguments.end());
  for (int place = 0; place < job_.count; ++place) start_one(start, host, place);
}

/// Where programs are looked for: in the PATH of the ranks, and then in that of this host.
std::string AgentLoop::folders() const {
  std::string all;
  for (const auto& [name, value] : job_.environment)
    if (name == "PATH") all = value + ":";  // the last one counts
  return all.append(own_folders());
}

void AgentLoop::start_one(RankStart& start, const Topology& host, int place) {
  Rank& rank = ranks_[static_cast<std::size_t>(place)];
  start.rank = job_.first + place;
  const auto joining = agent_.open_for_rank();
  start.inherited = {joining.descriptor.get()};
  Variables own = job_.environment;
  own.emplace_back("WEFT_RANK", std::to_string(start.rank));
  own.emplace_back("WEFT_SIZE", std::to_string(job_.ranks));
  own.emplace_back("WEFT_JOB", agent_.job_id());
  own.emplace_back("WEFT_BOOTSTRAP", agent_.name());
  own.emplace_back("WEFT_BOOTSTRAP_SOCKET", joining.name);
  base::Descriptor explained;
  if (job_.explains) {
    explained = open_explanation(rank, own);
    start.inherited.push_back(explained.get());
  }
  start.environment = environment_with(own);
  start.processors = processors_of(host, job_.binding, place, job_.count);
  start.inherits_input = start.rank == 0;
  std::optional<OtherInput> input;
  if (start.inherits_input) input_ = input.emplace().take_write_end();
  StartedRank started = start_rank(start, original_);
  rank.process = started.process;
  rank.output = std::move(started.output);
  rank.errors = std::move(started.errors);
  tell(JobFrame::started, start.rank, static_cast<std::uint32_t>(started.process));
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
  if (link_.waiting_bytes() < kMostWaiting)
    for (const Rank& rank : ranks_)
      for (const base::Descriptor* pipe : {&rank.output, &rank.errors})
        if (*pipe) waits.push_back({pipe->get(), POLLIN, 0});
  for (const Rank& rank : ranks_)
    if (rank.explain) waits.push_back({rank.explain.get(), POLLIN, 0});
  if (!unread_.empty()) waits.push_back({input_.get(), POLLOUT, 0});
  ::poll(waits.data(), waits.size(), -1);
  if (waits[1].revents != 0) {
    // Nothing follows the description: standard input tells that the launcher is there.
    std::array<char, 64> rest;
    if (::read(STDIN_FILENO, rest.data(), rest.size()) <= 0) is_abandoned_ = true;
  }
}

short AgentLoop::events_of(const FrameLink& link) {
  return static_cast<short>(link.wants_room() ? POLLIN | POLLOUT : POLLIN);
}

void AgentLoop::carry_output() {
  for (int place = 0; place < job_.count; ++place) {
    Rank& rank = ranks_[static_cast<std::size_t>(place)];
    carry(rank.output, JobFrame::output, place);
    carry(rank.errors, JobFrame::errors, place);
  }
}

void AgentLoop::carry(base::Descriptor& pipe, JobFrame kind, int place) {
  std::array<std::byte, kPiece> piece;
  while (pipe && link_.waiting_bytes() < kMostWaiting) {
    const ssize_t got = ::read(pipe.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    tell(kind, job_.first + place, 0,
         std::span(piece).first(static_cast<std::size_t>(std::max<ssize_t>(got, 0))));
    if (got <= 0) pipe.close();
  }
}

void AgentLoop::hand_over_the_rest() {
  carry_output();
  while (!link_.has_ended() && !is_abandoned_) {
    link_.flush();
    carry_output();
    const bool is_all = std::none_of(ranks_.begin(), ranks_.end(), [](const Rank& each) {
      return static_cast<bool>(each.output) || static_cast<bool>(each.errors);
    });
    if (is_all && !link_.wants_room()) return;
    pollfd waits[] = {{link_.descriptor(), events_of(link_), 0}, {STDIN_FILENO, POLLIN, 0}};
    ::poll(waits, 2, 100);
    link_.receive([](const FrameHeader&, std::vector<std::byte>&) { return true; });
    std::array<char, 64> rest;
    if (waits[1].revents != 0 && ::read(STDIN_FILENO, rest.data(), rest.size()) <= 0) is_abandoned_ = true;
  }
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
  for (int place = 0; place < job_.count; ++place) {
    Rank& rank = ranks_[static_cast<std::size_t>(place)];
    if (!rank.has_ended || rank.is_told) continue;
    // Its last messages and words come first; what processes that it has left write comes later.
    agent_.serve();
    agent_.rank_ended(job_.first + place, describe_end(rank.status));
    carry(rank.output, JobFrame::output, place);
    carry(rank.errors, JobFrame::errors, place);
    tell(JobFrame::ended, job_.first + place, static_cast<std::uint32_t>(rank.status));
    rank.is_told = true;
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
        for (int place = 0; place < job_.count; ++place) end_rank(job_.first + place, signal);
      return;
    }
    case JobFrame::input:
      if (payload.empty()) has_all_input_ = true;
      unread_.insert(unread_.end(), payload.begin(), payload.end());
      return;
    case JobFrame::explain:
      if (const Rank* const rank = find(frame.argument); rank != nullptr && rank->explain)
        static_cast<void>(
            ::send(rank->explain.get(), payload.data(), payload.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
      return;
    case JobFrame::finish:
      has_to_finish_ = true;
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

void AgentLoop::give_input() {
  while (input_ && !unread_.empty()) {
    const ssize_t given = ::write(input_.get(), unread_.data(), unread_.size());
    if (given < 0 && errno == EINTR) continue;
    if (given < 0 && errno == EAGAIN) return;
    if (given < 0) {  // the rank reads no more
      unread_.clear();
      input_.close();
      return;
    }
    unread_.erase(unread_.begin(), unread_.begin() + given);
    if (unread_.empty()) tell(JobFrame::input_taken, 0, 0);
  }
  if (has_all_input_ && unread_.empty()) input_.close();
}

void AgentLoop::take_reports() {
  if (!job_.explains) return;
  report_.resize(kLongestReport);
  for (int place = 0; place < job_.count; ++place) {
    Rank& rank = ranks_[static_cast<std::size_t>(place)];
    if (!rank.explain) continue;
    const ssize_t got = ::recv(rank.explain.get(), report_.data(), report_.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0)
      rank.explain.close();
    else
      tell(JobFrame::report, job_.first + place, 0, std::span(report_).first(static_cast<std::size_t>(got)));
  }
}

}  // namespace weft::tools::run
