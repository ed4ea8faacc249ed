// One process, two threads, each with a device of its own that sends to itself: does one cost the other
// anything?
#include <algorithm>
#include <barrier>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "perf/content.hpp"
#include "perf/inbox.hpp"
#include "perf/pinning.hpp"
#include "perf/stopwatch.hpp"
#include "perf/task.hpp"

namespace weft::tools::perf {
namespace {

constexpr int kThreads = 2;
constexpr int kWindow = 64;  // messages between two progress calls

/// One thread's endpoint, and the object that its messages go to.
class Loop {
 public:
  Loop(Runtime& runtime, std::uint32_t index, bool verify)
      : rank_(runtime.rank()),
        verify_(verify),
        device_(runtime, {.index = static_cast<std::int32_t>(index)}),
        endpoint_(device_),
        handler_(Consume{this}),
        remote_(runtime.expose(handler_, {.id = index, .device = index})) {}

  /// Messages per second to itself. Counts what did not come back into `missing()`.
  double run(double seconds) {
    for (const Stopwatch warming; warming.seconds() < warm_up_of(seconds);) round();
    const std::uint64_t before = arrived_;
    const Stopwatch timed;
    do {
      for (int i = 0; i < 16; ++i) round();
    } while (timed.seconds() < seconds);
    core_share_ = timed.core_share();
    return static_cast<double>(arrived_ - before) / timed.seconds();
  }

  [[nodiscard]] double core_share() const { return core_share_; }
  [[nodiscard]] std::uint64_t arrived() const { return arrived_; }
  [[nodiscard]] std::uint64_t lost() const { return verify_ ? ledger_.lost(sent_) : sent_ - arrived_; }
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

 private:
  struct Consume {
    Loop* loop;
    void operator()(Message& message) const noexcept {
      if (loop->verify_) [[unlikely]]
        loop->ledger_.add(message.tag(), message.data(), message.size(), sizeof(std::uint64_t));
      ++loop->arrived_;
    }
  };

  void round() {
    for (int i = 0; i < kWindow; ++i) {
      const std::uint64_t word = verify_ ? content_word(sent_, 0) : sent_;
      const ActiveMessageOptions options{.tag = static_cast<std::uint32_t>(sent_)};
      while (endpoint_.post_am(rank_, remote_, bytes_of(word), options).is_retry()) endpoint_.progress();
      ++sent_;
    }
    while (arrived_ < sent_) endpoint_.progress();
  }

  const int rank_;
  const bool verify_;
  Device device_;
  SerialEndpoint endpoint_;
  Ledger ledger_;
  std::uint64_t sent_ = 0;
  std::uint64_t arrived_ = 0;
  double core_share_ = 1;
  Handler<Consume> handler_;
  RemoteCompletion remote_;
};

struct Phase {
  bool runs[kThreads];
};
constexpr Phase kPhases[] = {{{true, false}}, {{true, true}}, {{false, true}}};

/// What a thread reached when it ran alone and when both did.
struct Rates {
  double alone = 0;
  double together = 0;
  double core_share = 1;
  std::uint64_t messages = 0, lost = 0, duplicated = 0, torn = 0;
};

Rates run_thread(Runtime& runtime, int number, const Task& task, std::barrier<>& turn) {
  pin_thread(task.processors, static_cast<std::size_t>(number));
  // Own memory of each thread, not neighbours in one allocation.
  auto loop = std::make_unique<Loop>(runtime, static_cast<std::uint32_t>(number), task.verify);
  Rates rates;
  constexpr int kCount = static_cast<int>(std::size(kPhases));
  for (int i = 0; i < kCount; ++i) {
    const Phase& phase = kPhases[task.reversed ? kCount - 1 - i : i];
    turn.arrive_and_wait();
    if (!phase.runs[number]) continue;
    const bool together = phase.runs[1 - number];
    (together ? rates.together : rates.alone) = loop->run(task.seconds / 2);
    rates.core_share = std::min(rates.core_share, loop->core_share());
  }
  turn.arrive_and_wait();
  rates.messages = loop->arrived();
  rates.lost = loop->lost();
  rates.duplicated = loop->ledger().duplicated();
  rates.torn = loop->ledger().torn();
  return rates;
}

}  // namespace

int run_solo(const Task& task) {
  Runtime runtime;
  std::barrier<> turn{kThreads};
  Rates rates[kThreads];
  std::exception_ptr failure[kThreads];
  {
    std::vector<std::jthread> threads;
    for (int number = 0; number < kThreads; ++number) {
      threads.emplace_back([&, number] {
        try {
          rates[number] = run_thread(runtime, number, task, turn);
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
  outcome.value = std::min(rates[0].together / rates[0].alone, rates[1].together / rates[1].alone);
  print(outcome);
  return 0;
}

}  // namespace weft::tools::perf
