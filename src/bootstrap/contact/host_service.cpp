#include "bootstrap/contact/host_service.hpp"

#include <weft/error.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "base/system_call.hpp"
#include "base/text/parse.hpp"
#include "bootstrap/local/server.hpp"
#include "bootstrap/relay/agent.hpp"
#include "bootstrap/relay/root.hpp"
#include "sockets/connecting.hpp"
#include "sockets/tcp_socket.hpp"

namespace weft::bootstrap::contact {

namespace {

constexpr int kLongestSleep = 1000;  // milliseconds
constexpr double kMoment = 10.0;     // seconds

short events_of(const relay::FrameLink& link) {
  return static_cast<short>(link.wants_room() ? POLLIN | POLLOUT : POLLIN);
}

/// A thread that serves until its work is over, after it has been asked to end.
class ServiceThread : public HostService {
 public:
  void give_up() override { is_given_up_ = true; }

 protected:
  explicit ServiceThread(double contact_seconds)
      : stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        contact_seconds_(contact_seconds),
        process_(::getpid()) {
    if (!stop_)
      throw Error(ErrorClass::job,
                  "a thread that serves ranks cannot be started: " + base::failed_call("eventfd", errno));
  }

  void start() {
    const base::SignalsBlocked inherited;
    thread_ = std::thread([this] { run(); });
  }
  /// To be called by the destructor of the class that has the work.
  void finish() {
    if (::getpid() != process_) {  // the copy of a process after fork() has no such thread
      thread_.detach();
      return;
    }
    const std::uint64_t one = 1;
    static_cast<void>(!::write(stop_.get(), &one, sizeof one));
    if (thread_.joinable()) thread_.join();
  }

  virtual void serve() = 0;
  /// Returns true when nobody needs the service any more. `is_late`: who has not come so far does not come.
  [[nodiscard]] virtual bool is_over(bool is_late) = 0;
  virtual void add_waits(std::vector<pollfd>& waits) = 0;
  [[nodiscard]] virtual int limit_ms() { return kLongestSleep; }

 private:
  void run() {
    std::optional<base::Deadline> late;
    for (;;) {
      serve();
      if (late && (is_given_up_ || is_over(late->passed()))) return;
      std::vector<pollfd> waits{{late ? -1 : stop_.get(), POLLIN, 0}};
      add_waits(waits);
      ::poll(waits.data(), waits.size(), std::min(limit_ms(), late ? 20 : kLongestSleep));
      if (waits.front().revents != 0) late.emplace(contact_seconds_);
    }
  }

  base::Descriptor stop_;
  std::atomic<bool> is_given_up_{false};
  const double contact_seconds_;
  const pid_t process_;
  std::thread thread_;
};

class JobService final : public ServiceThread {
 public:
  JobService(ServedJob job, sockets::Listener listener)
      : ServiceThread(job.contact_seconds),
        job_(std::move(job)),
        log_(base::LogLevel::warn, 0),
        server_(job_.id, job_.size, job_.host_names.size() > 1 ? job_.host_of : std::vector<std::int32_t>(),
                job_.secret, job_.socket_name),
        hosts_(job_.host_names.size()) {
    if (hosts_.size() > 1) {
      const sockets::Membership membership{job_.id,
                                           {},
                                           0,
                                           static_cast<int>(hosts_.size()),
                                           job_.peer_timeout,
                                           sockets::Protection::encrypted,
                                           sockets::Purpose::hosts,
                                           job_.links};
      acceptor_ = std::make_unique<sockets::Acceptor>(membership, std::move(listener), log_);
      acceptor_->open(0, inbox_);
    }
    // Its host's connection and then a rank have as long each.
    joining_.emplace(2 * job_.contact_seconds + kMoment);
    start();
  }
  ~JobService() override { finish(); }

 private:
  void serve() override {
    server_.serve();
    if (acceptor_ != nullptr) {
      acceptor_->serve();
      adopt();
    }
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      if (hosts_[host] == nullptr) continue;
      hosts_[host]->serve();
      if (hosts_[host]->link().has_ended()) lose(host);
    }
    while (const auto lost = server_.findings().take_unreachable()) end(*lost);
    while (const auto refused = server_.findings().take_refused())
      log_.error("rank " + std::to_string(refused->rank) + " cannot take part in the job: " + refused->why);
    while (server_.findings().take_unfinished().has_value()) {
    }
    for (; reported_losses_ < server_.findings().losses().size(); ++reported_losses_) {
      const local::Findings::Loss& loss = server_.findings().losses()[reported_losses_];
      log_.error("rank " + std::to_string(loss.rank) + " had accepted messages that are lost: " + loss.what);
    }
    if (joining_ && joining_->passed()) end_absent();
    if (server_.findings().aborted().has_value() && !std::exchange(has_reported_abort_, true))
      end_all(*server_.findings().aborted());
  }

  /// The rank that has aborted the job ends by itself, and its launcher may leave the others alone.
  void end_all(const local::Findings::Abort& abort) {
    log_.error("rank " + std::to_string(abort.rank) + " aborted the job with code " +
               std::to_string(abort.code) + ": " + abort.reason);
    // The own process last: it is rank 0.
    for (int rank = job_.size - 1; rank >= 0; --rank)
      if (rank != abort.rank) end_process(rank, SIGTERM, "the job was aborted: " + abort.reason);
  }

  /// All have come to the exchange: who has not joined by now has ended, or hangs.
  void end_absent() {
    joining_.reset();
    for (int rank = 0; rank < job_.size; ++rank)
      if (!server_.has_joined(rank))
        server_.rank_ended(rank, "has told where it is, and has not joined the job within " +
                                     base::seconds_text(job_.contact_seconds) +
                                     " s (WEFT_BOOTSTRAP_TIMEOUT)");
  }

  void end_process(int rank, int signal, const std::string& why) {
    const auto host = static_cast<std::size_t>(job_.host_of[static_cast<std::size_t>(rank)]);
    if (hosts_[host] != nullptr)
      hosts_[host]->end_rank(rank, why);
    else if (const pid_t process = server_.process_of(rank); process > 0)
      ::kill(process, signal);
  }

  void adopt() {
    for (sockets::Accepted* each = inbox_.take_all(); each != nullptr;) {
      const std::unique_ptr<sockets::Accepted> accepted(each);
      each = each->next;
      const std::uint32_t host = accepted->introduction.from_rank;
      const int socket = accepted->socket.get();
      const sockets::Answer answer = sockets::make_answer(sockets::Verdict::accepted, accepted->keys);
      if (host >= hosts_.size() || hosts_[host] != nullptr ||
          ::send(socket, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT) !=
              static_cast<ssize_t>(sizeof answer))
        continue;
      sockets::end_when_unanswered(socket, job_.peer_timeout);
      hosts_[host] = std::make_unique<relay::RemoteHost>(
          server_, static_cast<int>(host), sockets::Greeted{std::move(accepted->socket), accepted->keys});
    }
  }

  /// The service of a host ends after the last of its ranks has left, or with a failure.
  void lose(std::size_t host) {
    const std::string why = hosts_[host]->link().why_ended();
    hosts_[host].reset();
    for (int rank = 0; rank < job_.size; ++rank)
      if (static_cast<std::size_t>(job_.host_of[static_cast<std::size_t>(rank)]) == host)
        server_.rank_ended(rank, "was lost with its host " + job_.host_names[host] + ": " + why);
  }

  /// A rank that was declared failed may not go on as if it were a member.
  void end(const local::Findings::Unreachable& lost) {
    const auto host = static_cast<std::size_t>(job_.host_of[static_cast<std::size_t>(lost.rank)]);
    const std::string why = "rank " + std::to_string(lost.by) + " cannot reach it: " + lost.why;
    log_.error("rank " + std::to_string(lost.rank) + " on " + job_.host_names[host] + " is ended, because " +
               why);
    end_process(lost.rank, SIGKILL, why);
  }

  [[nodiscard]] bool is_over(bool is_late) override { return server_.has_served_all(is_late); }

  void add_waits(std::vector<pollfd>& waits) override {
    waits.push_back({server_.descriptor(), POLLIN, 0});
    if (acceptor_ == nullptr) return;
    waits.push_back({acceptor_->descriptor(), POLLIN, 0});
    for (const auto& host : hosts_)
      if (host != nullptr) waits.push_back({host->link().descriptor(), events_of(host->link()), 0});
  }
  [[nodiscard]] int limit_ms() override {
    return server_.timeout_ms() < 0 ? kLongestSleep : std::min(server_.timeout_ms(), kLongestSleep);
  }

  const ServedJob job_;
  const base::Log log_;
  local::Server server_;
  sockets::Inbox inbox_;
  std::unique_ptr<sockets::Acceptor> acceptor_;
  std::vector<std::unique_ptr<relay::RemoteHost>> hosts_;
  std::size_t reported_losses_ = 0;
  bool has_reported_abort_ = false;
  std::optional<base::Deadline> joining_;  // until then all must have joined
};

class RemoteService final : public ServiceThread {
 public:
  RemoteService(ServedJob job, sockets::Greeted to_root)
      : ServiceThread(job.contact_seconds),
        job_(std::move(job)),
        agent_(job_.id, job_.size, std::move(to_root), job_.socket_name) {
    start();
  }
  ~RemoteService() override { finish(); }

 private:
  void serve() override {
    agent_.serve();
    while (const auto end = agent_.take_end()) {
      log_.error("rank " + std::to_string(end->rank) + " is ended: " + end->why);
      if (end->process > 0) ::kill(end->process, SIGKILL);
    }
    if (agent_.link().has_ended() && !std::exchange(has_lost_root_, true))
      agent_.root_lost("rank 0 on " + job_.host_names.front() +
                       ", which serves the job, is lost: " + agent_.link().why_ended());
  }
  [[nodiscard]] bool is_over(bool is_late) override {
    const auto own = static_cast<int>(std::count(job_.host_of.begin(), job_.host_of.end(), job_.host));
    return agent_.has_served(own, is_late);
  }
  void add_waits(std::vector<pollfd>& waits) override {
    waits.push_back({agent_.descriptor(), POLLIN, 0});
    if (!agent_.link().has_ended())
      waits.push_back({agent_.link().descriptor(), events_of(agent_.link()), 0});
  }

  const ServedJob job_;
  const base::Log log_{base::LogLevel::warn, 0};
  relay::Agent agent_;
  bool has_lost_root_ = false;
};

}  // namespace

std::unique_ptr<HostService> serve_job(ServedJob job, sockets::Listener listener) {
  return std::make_unique<JobService>(std::move(job), std::move(listener));
}

std::unique_ptr<HostService> serve_host(ServedJob job, const Card& root) {
  const auto there = sockets::decode(root.addresses);
  if (!there.has_value())
    throw Error(ErrorClass::job, "rank 0 on " + root.host_name + " has told no addresses");
  const auto host = static_cast<std::uint32_t>(job.host);
  const sockets::Caller caller{job.id, job.links[host], host, 0, 0, job.peer_timeout};
  try {
    sockets::Greeted to_root =
        sockets::connect_to(*there, sockets::list_interfaces(), sockets::read_network_namespace(), caller,
                            base::Deadline(job.contact_seconds));
    sockets::end_when_unanswered(to_root.socket.get(), job.peer_timeout);
    return std::make_unique<RemoteService>(std::move(job), std::move(to_root));
  } catch (const Error& error) {
    throw Error(ErrorClass::job, "host " + job.host_names[static_cast<std::size_t>(job.host)] +
                                     " cannot join the job of rank 0 on " + root.host_name +
                                     " (WEFT_PORTS, WEFT_INTERFACE): " + error.what());
  }
}

}  // namespace weft::bootstrap::contact
