#pragma once

#include <weft/testing/in_process_job.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/in_process/hub.hpp"
#include "bootstrap/job_id.hpp"
#include "bootstrap/local/client.hpp"
#include "bootstrap/local/server.hpp"
#include "bootstrap/single/single.hpp"
#include "support/relayed_job.hpp"

namespace weft::bootstrap {

/// A job of one implementation, whose ranks a test joins from its threads.
class TestJob {
 public:
  virtual ~TestJob() = default;
  virtual std::unique_ptr<Bootstrap> join(int rank) = 0;
};

class InProcessJob final : public TestJob {
 public:
  InProcessJob(int size, double timeout) : hub_(size, timeout) {}
  std::unique_ptr<Bootstrap> join(int rank) override { return hub_.join(rank); }

 private:
  Hub hub_;
};

class SingleJob final : public TestJob {
 public:
  explicit SingleJob(double timeout) : timeout_(timeout) {}
  std::unique_ptr<Bootstrap> join(int) override { return join_alone(Hub{1, timeout_}.join(0)); }

 private:
  double timeout_;
};

/// The launcher's server in a thread of the test, in place of a `weft run`.
class LocalJobUnderTest final : public TestJob {
 public:
  LocalJobUnderTest(int size, double timeout)
      : size_(size), timeout_(timeout), server_(random_job_id(), size), stop_(::eventfd(0, EFD_CLOEXEC)) {
    thread_ = std::thread([this] { run(); });
  }
  ~LocalJobUnderTest() override {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(stop_, &one, sizeof one));
    thread_.join();
    ::close(stop_);
  }
  std::unique_ptr<Bootstrap> join(int rank) override {
    return join_local({.socket_name = server_.name(), .id = server_.job_id(), .rank = rank, .size = size_},
                      timeout_);
  }
  void end_rank(int rank, std::string how) {
    const std::lock_guard lock{mutex_};
    server_.rank_ended(rank, std::move(how));
  }
  const local::Server& server() const { return server_; }
  int abort_code() {
    const std::lock_guard lock{mutex_};
    return server_.findings().aborted() ? server_.findings().aborted()->code : 0;
  }

 private:
  void run() {
    for (;;) {
      int timeout = 0;
      {
        const std::lock_guard lock{mutex_};
        server_.serve();
        timeout = server_.timeout_ms();
      }
      pollfd ready[2] = {{server_.descriptor(), POLLIN, 0}, {stop_, POLLIN, 0}};
      ::poll(ready, 2, timeout < 0 ? 50 : std::min(timeout, 50));
      if (ready[1].revents != 0) return;
    }
  }

  const int size_;
  const double timeout_;
  std::mutex mutex_;
  local::Server server_;
  int stop_;
  std::thread thread_;
};

/// The ranks of three hosts, of which two have an agent.
class RelayedJobUnderTest final : public TestJob {
 public:
  RelayedJobUnderTest(int size, double timeout) : job_(size, std::min(size, 3), timeout) {}
  std::unique_ptr<Bootstrap> join(int rank) override { return job_.join(rank); }

 private:
  RelayedJob job_;
};

}  // namespace weft::bootstrap
