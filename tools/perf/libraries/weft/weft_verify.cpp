#include <vector>

#include "common/pinning.hpp"
#include "perf/libraries/weft/weft_inbox.hpp"
#include "perf/libraries/weft/weft_rounds.hpp"
#include "perf/measure/arrival_rate.hpp"
#include "perf/measure/payload_content.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {
namespace {

constexpr std::size_t kCopiedByPost = 1024;  // above, a post may borrow the buffer: send_am waits for it
constexpr double kQuiet = 2;          // seconds without an arrival after which missing messages count as lost
constexpr double kAfterwards = 0.02;  // seconds for duplicates to show

template <class AnyEndpoint>
void send_one(AnyEndpoint& endpoint, RemoteCompletion data, RemoteCompletion control,
              const std::uint64_t& acknowledged, const Task& task) {
  std::vector<std::byte> payload(task.size);
  const std::uint64_t sent = send_for(task, [&](std::uint64_t number) {
    fill(payload.data(), payload.size(), number);
    const ActiveMessageOptions options{.tag = static_cast<std::uint32_t>(number)};
    if (task.size > kCopiedByPost) {
      static_cast<void>(endpoint.send_am(1, data, payload, options));
    } else {
      while (endpoint.post_am(1, data, payload, options).is_retry()) endpoint.progress();
    }
  });
  static_cast<void>(endpoint.send_am(1, control, bytes_of(sent)));
  endpoint.wait_until([&] { return acknowledged != kUnknownTotal; });
  print({.role = "sender", .messages = sent});
}

template <class AnyEndpoint, class Inbox>
void receive(AnyEndpoint& endpoint, Inbox& inbox, const Ledger& ledger, const std::uint64_t& total,
             RemoteCompletion control) {
  const auto poll = [&] {
    for (int i = 0; i < 64; ++i) {
      endpoint.progress();
      inbox.drain();
    }
  };
  while (total == kUnknownTotal) poll();
  std::uint64_t seen = ledger.arrived();
  for (Stopwatch quiet; ledger.lost(total) != 0 && quiet.seconds() < kQuiet;) {
    poll();
    if (ledger.arrived() != seen) {
      seen = ledger.arrived();
      quiet = Stopwatch();
    }
  }
  for (const Stopwatch rest; rest.seconds() < kAfterwards;) poll();
  print({.role = "receiver",
         .messages = total,
         .lost = ledger.lost(total),
         .duplicated = ledger.duplicated(),
         .torn = ledger.torn()});
  static_cast<void>(endpoint.send_am(0, control, bytes_of(total)));
}

template <class AnyEndpoint, class To>
void verify_rank(const Task& task) {
  Ledger ledger;
  std::uint64_t total = kUnknownTotal;
  const std::size_t size = task.size;
  const auto check = [&ledger, size](Message& message) noexcept {
    ledger.add(message.tag(), message.data(), message.size(), size);
  };
  Runtime runtime;
  typename To::template Inbox<decltype(check)> inbox{check};
  Handler on_control{[&total](Message& message) noexcept { total = message.as<std::uint64_t>(); }};
  AnyEndpoint endpoint{runtime};
  const RemoteCompletion data = runtime.expose(inbox.completion(), kDataId);
  const RemoteCompletion control = runtime.expose(on_control, kControlId);
  runtime.barrier();
  if (runtime.rank() == 0) {
    send_one(endpoint, data, control, total, task);
  } else {
    receive(endpoint, inbox, ledger, total, control);
  }
}

}  // namespace

int run_weft_verify(const Task& task) {
  pin_thread(task.processors, static_cast<std::size_t>(rank_from_environment()));
  with_transport(task.transport(), [&]<class AnyEndpoint, class To>(std::type_identity<AnyEndpoint>, To) {
    verify_rank<AnyEndpoint, To>(task);
  });
  return 0;
}

}  // namespace weft::tools::perf
