#include <weft/detail/processor.hpp>

#include <cstring>
#include <vector>

#include "common/pinning.hpp"
#include "perf/libraries/weft/weft_inbox.hpp"
#include "perf/libraries/weft/weft_rounds.hpp"
#include "perf/measure/arrival_rate.hpp"
#include "perf/measure/fresh_payload.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {
namespace {

constexpr int kSender = 0;
constexpr int kReceiver = 1;

// The loops are functions of their own: the surrounding code would take their registers.

/// Posts again until the post is accepted. Small messages only need room in the lane; packets and large
/// messages need progress of their sender.
template <class AnyEndpoint>
[[gnu::noinline, gnu::cold]] void post_again(AnyEndpoint& endpoint, RemoteCompletion remote, Bytes bytes) {
  do {
    if (bytes.size() > 8) endpoint.progress();
    detail::cpu_pause();
  } while (endpoint.post_am(kReceiver, remote, bytes).is_retry());
}

template <class AnyEndpoint, class Payload>
[[gnu::noinline]] std::uint64_t stream(AnyEndpoint& endpoint, RemoteCompletion data, const Task& task,
                                       const Payload& payload) {
  const auto post = [&](const std::uint64_t& number) __attribute__((always_inline)) {
    const Bytes bytes = payload(number);
    if (endpoint.post_am(kReceiver, data, bytes).is_retry()) [[unlikely]]
      post_again(endpoint, data, bytes);
  };
  return send_for(task, post);
}

template <class AnyEndpoint>
void send(AnyEndpoint& endpoint, RemoteCompletion data, RemoteCompletion control,
          const std::uint64_t& acknowledged, const Task& task) {
  // Large messages borrow their buffer until they have arrived, which the acknowledgement shows.
  std::vector<std::byte> payload(task.size, std::byte{1});
  std::uint64_t sent = 0;
  const Stopwatch watch;
  if (task.size == 8) {
    sent = stream(endpoint, data, task, [](const std::uint64_t& number) { return bytes_of(number); });
  } else if (task.fresh) {
    const Fresh fresh(task);
    sent = stream(endpoint, data, task, [&](const std::uint64_t& number) {
      fresh(payload, number);
      return Bytes(payload);
    });
  } else {
    sent = stream(endpoint, data, task, [&payload](const std::uint64_t&) { return Bytes(payload); });
  }
  const double seconds = watch.seconds();
  const double core_share = watch.core_share();
  static_cast<void>(endpoint.send_am(kReceiver, control, bytes_of(sent)));
  endpoint.wait_until([&] { return acknowledged != kUnknownTotal; });
  print({.role = "sender",
         .value = static_cast<double>(sent) / seconds,
         .core_share = core_share,
         .messages = sent});
}

template <class AnyEndpoint, class Inbox>
void receive(AnyEndpoint& endpoint, Inbox& inbox, const std::uint64_t& count, const std::uint64_t& total,
             RemoteCompletion control, const Task& task) {
  const ArrivalRate rate = measure_arrivals(
      task,
      [&] {
        endpoint.progress();
        inbox.drain();
      },
      [&] { return count; }, [&] { return total; });
  print({.role = "receiver", .value = rate.per_second, .core_share = rate.core_share, .messages = count});
  static_cast<void>(endpoint.send_am(kSender, control, bytes_of(count)));
}

template <class AnyEndpoint, class To>
void run_rank(const Task& task) {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t total = kUnknownTotal;
  const auto count_one = [&count, &sum](Message& message) noexcept {
    std::uint64_t value = 0;
    if (message.size() >= sizeof value) std::memcpy(&value, message.data(), sizeof value);
    sum += value;
    ++count;
  };

  Runtime runtime;
  typename To::template Inbox<decltype(count_one)> inbox{count_one};
  Handler on_control{[&total](Message& message) noexcept { total = message.as<std::uint64_t>(); }};
  AnyEndpoint endpoint{runtime};
  const RemoteCompletion data = runtime.expose(inbox.completion(), kDataId);
  const RemoteCompletion control = runtime.expose(on_control, kControlId);
  runtime.barrier();
  if (runtime.rank() == kSender) {
    send(endpoint, data, control, total, task);
  } else {
    receive(endpoint, inbox, count, total, control, task);
    volatile std::uint64_t keep = sum;  // keeps the reads of the payloads
    (void)keep;
  }
}

}  // namespace

int run_weft_rate(const Task& task) {
  pin_thread(task.processors, static_cast<std::size_t>(rank_from_environment()));
  with_transport(task.transport(), [&]<class AnyEndpoint, class To>(std::type_identity<AnyEndpoint>, To) {
    run_rank<AnyEndpoint, To>(task);
  });
  return 0;
}

}  // namespace weft::tools::perf
