// Rate and latency of active messages, over any transport that has them.
#pragma once

#include "perf/measure/arrival_rate.hpp"
#include "perf/measure/idle_strategy.hpp"
#include "perf/workloads/sends_and_receives.hpp"

namespace weft::tools::perf {

/// Messages per second at the receiver; the sender waits only when its library does.
template <class Transport>
Outcome run_active_messages(const Task& task, Transport& transport) {
  ControlWord control(transport);
  AmSink sink(task);
  Outcome outcome;
  transport.expect_am(sink);
  control.expect();
  if (transport.rank() == 0) {
    control.wait();
    constexpr std::size_t kDistinct = 64;  // contents that a verifying sender keeps at a time
    Buffers buffers(task.verify ? kDistinct : 1, task.size);
    control.expect();
    const Stopwatch watch;
    outcome.role = "sender";
    if (task.verify) {
      outcome.messages = send_for(task, [&](std::uint64_t number) {
        if (number % kDistinct == 0) transport.wait_sends();
        fill(buffers[number].data(), task.size, number);
        transport.post_am(buffers[number]);
      });
    } else if (task.fresh) {
      Buffers fresh_buffers(kDistinct, task.size);
      const Fresh fresh(task);
      outcome.messages = send_for(task, [&](std::uint64_t number) {
        if (number % kDistinct == 0) transport.wait_sends();
        const ByteSpan buffer = fresh_buffers[number % kDistinct];
        fresh(buffer, number);
        transport.post_am(buffer);
      });
    } else if (task.size == sizeof(std::uint64_t)) {
      // A program that sends words knows at compile time that they have 8 bytes.
      outcome.messages = send_for(task, [&transport, word = buffers[0].data()](std::uint64_t) {
        transport.post_am(ByteView(word, sizeof(std::uint64_t)));
      });
    } else {
      outcome.messages =
          send_for(task, [&transport, bytes = buffers[0]](std::uint64_t) { transport.post_am(bytes); });
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

/// Ping-pong: half a round trip, nanoseconds.
template <class Transport>
Outcome run_am_ping_pong(const Task& task, Transport& transport) {
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  ControlWord control(transport);
  Buffers out(1, std::max(task.size, sizeof kEnd));
  AmSink sink(task);
  Outcome outcome;
  transport.expect_am(sink);
  control.expect();
  const auto say = [&](std::uint64_t word) {
    std::memcpy(out[0].data(), &word, sizeof word);
    transport.post_am(out[0]);
    transport.wait_sends();
  };
  const auto hear = [&](std::uint64_t number) {
    while (sink.count() < number) transport.progress();
    return sink.word();
  };
  control.send(1);
  control.wait();
  if (transport.rank() == 0) {
    outcome.role = "sender";
    std::uint64_t number = 0;
    const Latency latency = measure_round_trips(task, [&](std::uint64_t count) {
      for (const std::uint64_t end = number + count; number != end;) {
        say(++number);
        if (hear(number) != number) ++outcome.torn;
      }
    });
    say(kEnd);
    outcome.value = latency.one_way_ns;
    outcome.core_share = latency.core_share;
    outcome.percentiles_ns = latency.percentiles_ns;
    outcome.messages = latency.round_trips;
  } else {
    outcome.role = "receiver";
    for (std::uint64_t number = 1;; ++number) {
      const std::uint64_t word = hear(number);
      if (word == kEnd) break;
      say(word);
    }
  }
  return outcome;
}

}  // namespace weft::tools::perf
