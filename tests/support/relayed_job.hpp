// A job over several "hosts" of this process: a server, and agents of the other hosts, in one thread.
#pragma once

#include "bootstrap/job_id.hpp"
#include "bootstrap/local/client.hpp"
#include "bootstrap/local/server.hpp"
#include "bootstrap/relay/agent.hpp"
#include "bootstrap/relay/root.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weft::bootstrap {

/// Rank r is on host r % hosts; host 0 is the server's.
class RelayedJob {
 public:
  RelayedJob(int size, int hosts, double timeout)
      : size_(size), timeout_(timeout), server_(random_job_id(), size, places(size, hosts)) {
    for (int host = 1; host < hosts; ++host) {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
      const sockets::SessionKeys up{.send = {std::byte{1}},
                                    .receive = {std::byte{2}},
                                    .protection = sockets::Protection::encrypted,
                                    .uses_aes = sockets::has_aes()};
      sockets::SessionKeys down = up;
      std::swap(down.send, down.receive);
      hosts_.push_back({std::make_unique<relay::RemoteHost>(
                            server_, host, sockets::Greeted{base::Descriptor(ends[0]), down}),
                        std::make_unique<relay::Agent>(server_.job_id(), size,
                                                       sockets::Greeted{base::Descriptor(ends[1]), up})});
    }
    thread_ = std::thread([this] { run(); });
  }
  ~RelayedJob() {
    stops_ = true;
    thread_.join();
  }
  RelayedJob(const RelayedJob&) = delete;
  RelayedJob& operator=(const RelayedJob&) = delete;

  std::unique_ptr<Bootstrap> join(int rank, std::string_view name = {}) {
    const auto host = static_cast<std::size_t>(rank) % (hosts_.size() + 1);
    const std::string& socket = host == 0 ? server_.name() : hosts_[host - 1].agent->name();
    return join_local({.socket_name = socket, .id = server_.job_id(), .rank = rank, .size = size_}, timeout_,
                      name);
  }
  /// The process of the rank has ended.
  void end_rank(int rank, const std::string& how) {
    const std::lock_guard lock(mutex_);
    const auto host = static_cast<std::size_t>(rank) % (hosts_.size() + 1);
    if (host == 0)
      server_.rank_ended(rank, how);
    else
      hosts_[host - 1].agent->rank_ended(rank, how);
  }
  /// The host is lost with all its ranks.
  void lose_host(int host) {
    const std::lock_guard lock(mutex_);
    auto& lost = hosts_[static_cast<std::size_t>(host) - 1];
    lost.root.reset();
    for (int rank = host; rank < size_; rank += static_cast<int>(hosts_.size()) + 1)
      server_.rank_ended(rank, "was lost with its host");
  }
  /// The root is lost for the ranks of a host.
  void lose_root(int host, const std::string& why) {
    const std::lock_guard lock(mutex_);
    auto& lost = hosts_[static_cast<std::size_t>(host) - 1];
    lost.root.reset();
    lost.agent->root_lost(why);
  }
  template <class Use>
  auto with_agent(int host, const Use& use) {
    const std::lock_guard lock(mutex_);
    return use(*hosts_[static_cast<std::size_t>(host) - 1].agent);
  }
  template <class Use>
  auto with_server(const Use& use) {
    const std::lock_guard lock(mutex_);
    return use(server_);
  }

 private:
  struct Host {
    std::unique_ptr<relay::RemoteHost> root;
    std::unique_ptr<relay::Agent> agent;
  };

  static std::vector<std::int32_t> places(int size, int hosts) {
    std::vector<std::int32_t> host_of;
    for (int rank = 0; rank < size; ++rank) host_of.push_back(rank % hosts);
    return host_of;
  }

  void run() {
    while (!stops_) {
      std::vector<pollfd> waits;
      int limit = 20;
      {
        const std::lock_guard lock(mutex_);
        server_.serve();
        waits.push_back({server_.descriptor(), POLLIN, 0});
        for (const Host& each : hosts_) {
          each.agent->serve();
          waits.push_back({each.agent->descriptor(), POLLIN, 0});
          waits.push_back({each.agent->link().descriptor(), events_of(each.agent->link()), 0});
          if (each.root == nullptr) continue;
          each.root->serve();
          waits.push_back({each.root->link().descriptor(), events_of(each.root->link()), 0});
        }
        if (server_.timeout_ms() >= 0) limit = std::min(limit, server_.timeout_ms());
      }
      ::poll(waits.data(), waits.size(), limit);
    }
  }
  static short events_of(const relay::FrameLink& link) {
    if (link.has_ended()) return 0;
    return static_cast<short>(link.wants_room() ? POLLIN | POLLOUT : POLLIN);
  }

  const int size_;
  const double timeout_;
  std::mutex mutex_;
  local::Server server_;
  std::vector<Host> hosts_;
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace weft::bootstrap
