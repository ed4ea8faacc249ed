#include "common/pinning.hpp"
#include "perf/libraries/weft/weft_inbox.hpp"
#include "perf/libraries/weft/weft_rounds.hpp"
#include "perf/measure/compute.hpp"
#include "perf/measure/round_trips.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {
namespace {

constexpr std::uint64_t kEnd = ~std::uint64_t{0};

template <class AnyEndpoint, class Inbox>
class Player {
 public:
  Player(AnyEndpoint& endpoint, Inbox& inbox, const std::uint64_t& last, RemoteCompletion remote, int peer)
      : endpoint_(endpoint), inbox_(inbox), last_(last), remote_(remote), peer_(peer) {}

  void serve(const Task& task) {
    const Compute compute(task);
    std::uint64_t number = 0;
    const Latency latency = measure_round_trips(task, [&](std::uint64_t count) {
      for (const std::uint64_t end = number + count; number != end;) {
        compute();
        say(++number);
        while (last_ != number) poll();
      }
    });
    say(kEnd);
    print({.role = "sender",
           .value = latency.one_way_ns,
           .core_share = latency.core_share,
           .percentiles_ns = latency.percentiles_ns,
           .messages = latency.round_trips});
  }
  void answer(const Task& task) {
    const Compute compute(task);
    for (std::uint64_t answered = 0;;) {
      while (last_ == answered) poll();
      if (last_ == kEnd) return;
      answered = last_;
      compute();
      say(answered);
    }
  }

 private:
  void say(std::uint64_t number) {
    while (endpoint_.post_am(peer_, remote_, bytes_of(number)).is_retry()) poll();
  }
  void poll() {
    endpoint_.progress();
    inbox_.drain();
  }

  AnyEndpoint& endpoint_;
  Inbox& inbox_;
  const std::uint64_t& last_;
  const RemoteCompletion remote_;
  const int peer_;
};

template <class AnyEndpoint, class To>
void run_rank(const Task& task) {
  std::uint64_t last = 0;
  const auto remember = [&last](Message& message) noexcept { last = message.as<std::uint64_t>(); };
  Runtime runtime;
  typename To::template Inbox<decltype(remember)> inbox{remember};
  AnyEndpoint endpoint{runtime};
  const RemoteCompletion remote = runtime.expose(inbox.completion(), kDataId);
  runtime.barrier();
  Player player{endpoint, inbox, last, remote, 1 - runtime.rank()};
  runtime.rank() == 0 ? player.serve(task) : player.answer(task);
}

}  // namespace

int run_weft_latency(const Task& task) {
  pin_thread(task.processors, static_cast<std::size_t>(rank_from_environment()));
  with_transport(task.transport(), [&]<class AnyEndpoint, class To>(std::type_identity<AnyEndpoint>, To) {
    run_rank<AnyEndpoint, To>(task);
  });
  return 0;
}

}  // namespace weft::tools::perf
