// The cost of waiting with weft: both ranks are in a wait(), which parks.
#include "base/clock.hpp"
#include "perf/workloads/idle_and_wake_up.hpp"

#include <weft/weft.hpp>

#include <atomic>
#include <optional>
#include <thread>

#include "common/pinning.hpp"
#include "perf/libraries/weft/weft_rounds.hpp"

namespace weft::tools::perf {
namespace {

void insist(Endpoint& endpoint, int peer, const RemoteCompletion& target, std::int64_t word) {
  while (endpoint.post_am(peer, target, bytes_of(word)).is_retry()) endpoint.progress();
}

/// Reads from each message the time of its post, and compares.
class WakeUps final : public Completion {
 public:
  ~WakeUps() override { withdraw(); }
  void signal(Message& message) noexcept override {
    const auto posted = message.as<std::int64_t>();
    if (posted == 0) {
      ended_ = true;
    } else if (times_.size() < times_.capacity()) {
      times_.push_back(static_cast<double>(base::now_ns() - posted));
    }
    // Pairs with the acquire in ready().
    arrived_.fetch_add(1, std::memory_order_release);
    notify_waiters_of(this);
  }
  [[nodiscard]] bool ready() const noexcept override {
    return arrived_.load(std::memory_order_acquire) >= awaited_;
  }

  /// Waits for one more arrival than the last call.
  void wait_for_next(Endpoint& endpoint) {
    ++awaited_;
    endpoint.wait_ready(*this);
  }
  void reserve(std::size_t count) { times_.reserve(count); }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] std::vector<double> take() { return std::move(times_); }

 private:
  std::atomic<std::uint64_t> arrived_{0};
  std::uint64_t awaited_ = 0;
  bool ended_ = false;
  std::vector<double> times_;
};

/// Both ranks wait, until a thread of rank 0 that has slept meanwhile ends it. The larger share of a core
/// counts.
Outcome idle(const Task& task, Runtime& runtime, Endpoint& endpoint) {
  Counter over;
  const RemoteCompletion target = runtime.expose(over, {.id = 1});
  runtime.barrier();
  std::optional<std::jthread> alarm;
  const CoreUse use;
  if (runtime.rank() == 0) {
    alarm.emplace([&] {
      sleep_for(idle_seconds_of(task));
      for (int rank = runtime.size(); rank-- > 0;) insist(endpoint, rank, target, 0);
    });
  }
  endpoint.wait(over, 1);
  const double share = use.percent();
  alarm.reset();
  double shares[2];
  runtime.allgather(std::as_bytes(std::span(&share, 1)), std::as_writable_bytes(std::span(shares)));
  runtime.barrier();
  if (runtime.rank() != 0) return {.role = "receiver", .value = 0, .messages = 1};
  return {.role = "sender",
          .value = std::max(shares[0], shares[1]),
          .parts = {shares[0], shares[1]},
          .messages = 1};
}

Outcome wake_up(const Task& task, Runtime& runtime, Endpoint& endpoint) {
  WakeUps wake_ups;
  wake_ups.reserve(std::size_t{1} << 16);
  const RemoteCompletion target = runtime.expose(wake_ups, {.id = 1});
  runtime.barrier();
  if (runtime.rank() == 0) {
    Pauses pauses(task.seed);
    for (const CoreUse use; use.seconds() < idle_seconds_of(task);) {
      pauses.sleep();
      insist(endpoint, 1, target, base::now_ns());
    }
    insist(endpoint, 1, target, 0);
    runtime.barrier();
    return {.role = "sender", .value = 0};
  }
  while (!wake_ups.ended()) wake_ups.wait_for_next(endpoint);
  runtime.barrier();
  return wake_up_outcome(wake_ups.take());
}

}  // namespace

int run_waiting(const Task& task, Workload workload) {
  pin_thread(task.processors, static_cast<std::size_t>(rank_from_environment()));
  Runtime runtime;
  Endpoint endpoint(runtime);
  print(workload == Workload::idle ? idle(task, runtime, endpoint) : wake_up(task, runtime, endpoint));
  return 0;
}

}  // namespace weft::tools::perf
