// Pairs of threads on the same cores, once as threads of two ranks and once as ranks of one thread each.
#include <weft/error.hpp>
#include <weft/weft.hpp>

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdlib>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/pinning.hpp"
#include "experiment/launch/weft_path.hpp"
#include "perf/libraries/weft/weft_rounds.hpp"
#include "perf/measure/idle_strategy.hpp"
#include "perf/workloads/sends_and_receives.hpp"

namespace weft::tools::perf {
namespace {

constexpr int kPairs = 4;

/// Arrivals at one end of a pair. The threads of a shared device deliver messages for each other.
class Arrivals final : public Completion {
 public:
  Arrivals(bool shared, bool verify) : shared_(shared), verify_(verify) {}
  ~Arrivals() override { withdraw(); }
  void signal(Message& message) noexcept override {
    if (message.tag() == kControl) {
      std::memcpy(control, message.data(), std::min(message.size(), sizeof(std::uint64_t)));
    } else if (verify_ && !is_intact(message.data(), message.size(), message.tag())) {
      torn_.fetch_add(1, std::memory_order_relaxed);
    }
    // Pairs with the acquire in count().
    if (shared_) {
      count_.fetch_add(1, std::memory_order_release);
    } else {
      count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
  }
  [[nodiscard]] bool ready() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] std::size_t torn() const noexcept { return torn_.load(std::memory_order_relaxed); }

  static constexpr std::uint32_t kControl = ~std::uint32_t{0};
  std::byte* control = nullptr;  // destination of the next word of control

 private:
  const bool shared_;
  const bool verify_;
  alignas(64) std::atomic<std::uint64_t> count_{0};
  std::atomic<std::size_t> torn_{0};
};

/// What one end of a pair works with.
struct PairContext {
  Runtime& runtime;
  Endpoint& endpoint;
  int side;
  int peer;              // rank
  std::uint32_t number;  // of the pair within its rank
  std::uint32_t device;
  bool shared;
  bool yields;
};

/// One end of a pair for the workloads of windows (transport.hpp): active messages to a handler at the other
/// end.
class PairTransport {
 public:
  PairTransport(const PairContext& context, bool verify)
      : context_(context),
        arrivals_(context.shared, verify),
        remote_(context.runtime.expose(arrivals_, {.id = 1 + context.number, .device = context.device})) {}

  [[nodiscard]] int rank() const { return context_.side; }
  [[nodiscard]] std::size_t torn() const { return arrivals_.torn(); }
  void progress() { context_.endpoint.progress(); }
  void post_receive(std::uint64_t tag, ByteSpan buffer) {
    if (tag == kControlTag) arrivals_.control = buffer.data();
    ++expected_;
  }
  void wait_receives() {
    for (IdleStrategy idle(context_.yields); receives_pending();) idle.poll(*this);
  }
  [[nodiscard]] bool receives_pending() const { return arrivals_.count() < expected_; }
  [[gnu::always_inline]] void post_send(std::uint64_t tag, ByteView bytes) {
    const std::uint32_t number = tag == kControlTag ? Arrivals::kControl : sent_++;
    if (context_.endpoint.post_am(context_.peer, remote_, bytes, {.tag = number}).is_retry()) [[unlikely]]
      post_send_again(number, bytes);
  }
  void wait_sends() {}  // small payloads are sent when the post returns

 private:
  [[gnu::noinline, gnu::cold]] void post_send_again(std::uint32_t number, ByteView bytes) {
    IdleStrategy idle(context_.yields);
    do idle.poll(*this);
    while (context_.endpoint.post_am(context_.peer, remote_, bytes, {.tag = number}).is_retry());
  }

  const PairContext context_;
  Arrivals arrivals_;
  RemoteCompletion remote_;
  std::uint64_t expected_ = 0;
  std::uint32_t sent_ = 0;
};

/// Devices and endpoints of a rank.
class Devices {
 public:
  Devices(Runtime& runtime, int threads, bool shared) {
    for (int index = 0; index < (shared ? 1 : threads); ++index) {
      devices_.push_back(std::make_unique<Device>(runtime, DeviceOptions{.index = index}));
      endpoints_.push_back(std::make_unique<Endpoint>(*devices_.back()));
    }
  }
  [[nodiscard]] std::uint32_t index_of(int thread) const {
    return endpoints_.size() == 1 ? 0 : static_cast<std::uint32_t>(thread);
  }
  [[nodiscard]] Endpoint& endpoint_of(int thread) { return *endpoints_[index_of(thread)]; }

 private:
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

std::vector<Outcome> run_pairs(const Task& task, Runtime& runtime, bool shared) {
  const int threads = 2 * kPairs / runtime.size();
  const int side = runtime.rank() * threads / kPairs;
  const bool each_has_core = task.processors.size() >= 2 * kPairs;
  Devices devices(runtime, threads, shared);
  std::vector<std::unique_ptr<PairTransport>> ends;
  for (int thread = 0; thread < threads; ++thread) {
    const int peer = (runtime.rank() + runtime.size() / 2) % runtime.size();
    const PairContext context{runtime,
                              devices.endpoint_of(thread),
                              side,
                              peer,
                              static_cast<std::uint32_t>(thread),
                              devices.index_of(thread),
                              shared,
                              !each_has_core};
    ends.push_back(std::make_unique<PairTransport>(context, task.verify));
  }
  Task own = task;
  own.verify = task.verify && side == 0;  // the handler of the other side checks the messages
  std::vector<Outcome> outcomes(ends.size());
  std::vector<std::exception_ptr> failures(ends.size());
  runtime.barrier();
  {
    std::vector<std::jthread> running;
    for (int thread = 0; thread < threads; ++thread) {
      running.emplace_back([&, thread] {
        const auto index = static_cast<std::size_t>(thread);
        try {
          const int processor = runtime.rank() * threads + thread;
          pin_thread(task.processors, static_cast<std::size_t>(each_has_core ? processor : side));
          outcomes[index] = run_window(own, *ends[index]);
          outcomes[index].torn += ends[index]->torn();
        } catch (...) {
          failures[index] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  runtime.barrier();
  while (!ends.empty()) ends.pop_back();
  return outcomes;
}

struct Sum {
  double rate = 0;
  double core_share = 1;
  std::uint64_t messages = 0;
  std::uint64_t torn = 0;
};

/// Becomes the launcher of the ranks that the task needs. Does not return.
void launch(const Task& task, int ranks) {
  const std::string self = weft_path();
  const std::string count = std::to_string(ranks);
  const std::string text = text_of(task);
  ::execl(self.c_str(), self.c_str(), "run", "-n", count.c_str(), "--", self.c_str(), "perf", "--worker",
          text.c_str(), nullptr);
  throw Error(fmt::format("{} cannot be started: {}", self, std::strerror(errno)));
}

}  // namespace

int run_modes(const Task& given) {
  Task task = given;
  const bool processes = task.transport() == "processes";
  if (std::getenv("WEFT_RANK") == nullptr) launch(task, processes ? 2 * kPairs : 2);
  task.processors = choose_processors(2 * kPairs);
  Runtime runtime;
  Sum own;
  for (const Outcome& each : run_pairs(task, runtime, task.transport() == "threads-shared")) {
    if (each.role == "receiver") own.rate += each.value;
    if (each.role == "receiver") own.messages += each.messages;
    own.torn += each.torn;
  }
  std::vector<Sum> all(static_cast<std::size_t>(runtime.size()));
  runtime.allgather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  runtime.barrier();
  if (runtime.rank() != 0) return 0;
  Outcome outcome{.role = "both", .value = 0};
  for (const Sum& each : all) {
    outcome.value += each.rate;
    outcome.messages += each.messages;
    outcome.torn += each.torn;
  }
  print(outcome);
  return 0;
}

}  // namespace weft::tools::perf
