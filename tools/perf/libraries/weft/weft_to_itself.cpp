// One process with two threads that send to themselves, each on a device of its own, or both on one: measures
// whether one thread slows the other down.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "common/pinning.hpp"
#include "common/stopwatch.hpp"
#include "perf/libraries/weft/weft_inbox.hpp"
#include "perf/libraries/weft/weft_rounds.hpp"
#include "perf/measure/payload_content.hpp"

namespace weft::tools::perf {
namespace {

constexpr int kThreads = 2;
constexpr int kWindow = 64;  // messages between two progress calls

/// Messages of one thread to itself, over an endpoint of its own or over one that both threads share. With a
/// shared endpoint, the other thread's progress may also deliver its messages.
template <class AnyEndpoint, bool kIsShared>
class Loop {
 public:
  Loop(Runtime& runtime, AnyEndpoint& endpoint, std::uint32_t device, std::uint32_t id, bool verify)
      : rank_(runtime.rank()),
        verify_(verify),
        endpoint_(endpoint),
        handler_(Consume{this}),
        remote_(runtime.expose(handler_, {.id = id, .device = device})) {}

  /// Returns messages per second to itself.
  double run(double seconds, double warm_up) {
    for (const Stopwatch warming; warming.seconds() < warm_up;) round();
    const std::uint64_t before = sent_;
    const Stopwatch timed;
    do {
      for (int i = 0; i < 16; ++i) round();
    } while (timed.seconds() < seconds);
    core_share_ = timed.core_share();
    return static_cast<double>(sent_ - before) / timed.seconds();
  }

  [[nodiscard]] double core_share() const { return core_share_; }
  [[nodiscard]] std::uint64_t arrived() const { return arrived_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t lost() const { return verify_ ? ledger_.lost(sent_) : sent_ - arrived(); }
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

 private:
  struct Consume {
    Loop* loop;
    void operator()(Message& message) const noexcept {
      if (loop->verify_) [[unlikely]] {
        const std::lock_guard lock(loop->ledger_mutex_);
        loop->ledger_.add(message.tag(), message.data(), message.size(), sizeof(std::uint64_t));
      }
      // Pairs with the acquire in arrived().
      if constexpr (kIsShared) {
        loop->arrived_.fetch_add(1, std::memory_order_release);
      } else {
        loop->arrived_.store(loop->arrived_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      }
    }
  };

  void round() {
    for (int i = 0; i < kWindow; ++i) {
      const std::uint64_t word = verify_ ? content_word(sent_, 0) : sent_;
      const ActiveMessageOptions options{.tag = static_cast<std::uint32_t>(sent_)};
      while (endpoint_.post_am(rank_, remote_, bytes_of(word), options).is_retry()) endpoint_.progress();
      ++sent_;
    }
    while (arrived() < sent_) endpoint_.progress();
  }

  const int rank_;
  const bool verify_;
  AnyEndpoint& endpoint_;
  std::mutex ledger_mutex_;
  Ledger ledger_;
  std::uint64_t sent_ = 0;
  double core_share_ = 1;
  alignas(64) std::atomic<std::uint64_t> arrived_{0};
  Handler<Consume> handler_;
  RemoteCompletion remote_;
};

using OwnLoop = Loop<SerialEndpoint, false>;
using SharedLoop = Loop<Endpoint, true>;

struct Phase {
  bool runs[kThreads];
};
constexpr Phase kPhases[] = {{{true, false}}, {{true, true}}, {{false, true}}};

/// The rates of a thread when it ran alone and when both ran.
struct Rates {
  double alone = 0;
  double together = 0;
  double core_share = 1;
  std::uint64_t messages = 0, lost = 0, duplicated = 0, torn = 0;
};

template <class AnyLoop>
Rates run_phases(AnyLoop& loop, int number, const Task& task, std::barrier<>& turn) {
  Rates rates;
  constexpr int kCount = static_cast<int>(std::size(kPhases));
  for (int i = 0; i < kCount; ++i) {
    const Phase& phase = kPhases[task.reversed ? kCount - 1 - i : i];
    turn.arrive_and_wait();
    if (!phase.runs[number]) continue;
    const bool together = phase.runs[1 - number];
    (together ? rates.together : rates.alone) = loop.run(task.seconds / 2, task.warm_up);
    rates.core_share = std::min(rates.core_share, loop.core_share());
  }
  turn.arrive_and_wait();
  rates.messages = loop.arrived();
  rates.lost = loop.lost();
  rates.duplicated = loop.ledger().duplicated();
  rates.torn = loop.ledger().torn();
  return rates;
}

/// `shared`: the endpoint of both threads, or nullptr.
Rates run_thread(Runtime& runtime, Endpoint* shared, int number, const Task& task, std::barrier<>& turn) {
  pin_thread(task.processors, static_cast<std::size_t>(number));
  const auto id = static_cast<std::uint32_t>(number);
  // Memory of each thread's own, not neighbours in one allocation.
  if (shared != nullptr) {
    const auto loop = std::make_unique<SharedLoop>(runtime, *shared, 0, id, task.verify);
    return run_phases(*loop, number, task, turn);
  }
  Device device(runtime, {.index = number});
  SerialEndpoint endpoint(device);
  const auto loop = std::make_unique<OwnLoop>(runtime, endpoint, id, id, task.verify);
  return run_phases(*loop, number, task, turn);
}

}  // namespace

int run_solo(const Task& task, bool shared) {
  Runtime runtime;
  std::optional<Endpoint> endpoint;
  if (shared) endpoint.emplace(runtime);
  std::barrier<> turn{kThreads};
  Rates rates[kThreads];
  std::exception_ptr failure[kThreads];
  {
    std::vector<std::jthread> threads;
    for (int number = 0; number < kThreads; ++number) {
      threads.emplace_back([&, number] {
        try {
          rates[number] = run_thread(runtime, endpoint ? &*endpoint : nullptr, number, task, turn);
        } catch (...) {
          failure[number] = std::current_exception();
          turn.arrive_and_drop();
        }
      });
    }
  }
  for (const std::exception_ptr& each : failure) {
    if (each) std::rethrow_exception(each);
  }
  Outcome outcome{.role = "both", .value = 0, .core_share = 1};
  for (const Rates& each : rates) {
    outcome.parts.push_back(each.alone);
    outcome.parts.push_back(each.together);
    outcome.core_share = std::min(outcome.core_share, each.core_share);
    outcome.messages += each.messages;
    outcome.lost += each.lost;
    outcome.duplicated += each.duplicated;
    outcome.torn += each.torn;
  }
  outcome.value = shared ? (rates[0].together + rates[1].together) / std::max(rates[0].alone, rates[1].alone)
                         : std::min(rates[0].together / rates[0].alone, rates[1].together / rates[1].alone);
  print(outcome);
  return 0;
}

}  // namespace weft::tools::perf
