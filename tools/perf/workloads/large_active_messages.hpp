// Large active messages, one way, over any transport that has them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "perf/measure/arrival_rate.hpp"
#include "perf/measure/idle_strategy.hpp"
#include "perf/workloads/sends_and_receives.hpp"

namespace weft::tools::perf {

/// The number of messages that a sender makes before it waits for them, when each has a buffer of its own.
[[nodiscard]] inline std::size_t fresh_at_a_time(std::size_t size) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  return std::clamp<std::size_t>(kBytes / size, 4, 64);
}

template <class Transport>
void post_large(Transport& transport, ByteView bytes) {
  if constexpr (requires { transport.post_large_am(bytes); })
    transport.post_large_am(bytes);
  else
    transport.post_am(bytes);
}

/// Calls send(number) until the time is over, which it checks after each call.
template <class Send>
std::uint64_t send_large_for(const Task& task, const Send& send) {
  const Compute compute(task);
  const std::int64_t end = base::now_ns() + base::seconds_to_ns(task.seconds + task.warm_up);
  std::uint64_t sent = 0;
  do {
    compute();
    send(sent++);
  } while (base::now_ns() < end);
  return sent;
}

/// Messages per second at the receiver. The sender has as many under way as its library takes, all from one
/// buffer; or, with `is_fresh`, allocates and writes a buffer for each message and frees it when it may, and
/// the receiver reads every message.
template <class Transport>
Outcome run_large_active_messages(const Task& task, Transport& transport, bool is_fresh) {
  ControlWord control(transport);
  AmSink sink(task, is_fresh);
  Outcome outcome;
  transport.expect_am(sink);
  control.expect();
  if (transport.rank() == 0) {
    control.wait();
    control.expect();
    outcome.role = "sender";
    const Stopwatch watch;
    if (is_fresh || task.verify) {
      std::vector<std::unique_ptr<std::byte[]>> buffers(fresh_at_a_time(task.size));
      outcome.messages = send_large_for(task, [&](std::uint64_t number) {
        const std::size_t index = number % buffers.size();
        if (index == 0) {
          transport.wait_sends();
          for (auto& buffer : buffers) buffer.reset();
        }
        buffers[index] = std::make_unique_for_overwrite<std::byte[]>(task.size);
        if (task.verify)
          fill(buffers[index].get(), task.size, number);
        else
          std::memset(buffers[index].get(), static_cast<int>(number), task.size);
        post_large(transport, ByteView(buffers[index].get(), task.size));
      });
      transport.wait_sends();
    } else {
      Buffers buffers(1, task.size);
      outcome.messages = send_large_for(task, [&](std::uint64_t) { post_large(transport, buffers[0]); });
      transport.wait_sends();
    }
    outcome.value = static_cast<double>(outcome.messages) / watch.seconds();
    outcome.core_share = watch.core_share();
    control.send(outcome.messages);
    control.wait();
  } else {
    outcome.role = "receiver";
    control.send(1);
    IdleStrategy idle(task.yields, IdleStrategy::Awaits::stream);
    const ArrivalRate rate = measure_arrivals(
        task, [&] { idle.poll(transport); }, [&] { return sink.count(); },
        [&] { return transport.receives_pending() ? kUnknownTotal : control.wait(); });
    outcome.value = rate.per_second;
    outcome.core_share = rate.core_share;
    outcome.messages = sink.count();
    if (task.verify) {
      outcome.lost = sink.ledger().lost(outcome.messages);
      outcome.duplicated = sink.ledger().duplicated();
      outcome.torn = sink.ledger().torn();
    }
    control.send(outcome.messages);
  }
  return outcome;
}

}  // namespace weft::tools::perf
