// Two ranks that send to each other at the same time and wait for both messages, as neighbours of a stencil
// do.
#pragma once

#include <algorithm>
#include <cstring>

#include "perf/workloads/sends_and_receives.hpp"

namespace weft::tools::perf {

/// Exchanges one after the other: each rank posts a receive and a send and waits for both. Nanoseconds of
/// each, at rank 0; percentiles of single exchanges, timed apart from the mean. The payload begins with the
/// number of the exchange, as far as it fits; the last payload of rank 0 is a word that is no number.
template <class Transport>
Outcome run_exchange(const Task& task, Transport& transport) {
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  constexpr std::size_t kWord = sizeof kEnd;
  const std::size_t counted = std::min(task.size, kWord);  // bytes of the number
  const std::uint64_t mask = counted == kWord ? kEnd : (std::uint64_t{1} << 8 * counted) - 1;
  const std::size_t rest = task.size - counted;
  Buffers out(1, std::max(task.size, kWord));
  Buffers in(1, std::max(task.size, kWord));
  const Compute compute(task);
  Outcome outcome{.role = transport.rank() == 0 ? "sender" : "receiver"};
  std::uint64_t number = 0;
  // Returns false when the peer has sent its last message.
  const auto exchange = [&](std::uint64_t mine, std::size_t size) {
    transport.post_receive(kDataTag, in[0]);
    compute();
    std::memcpy(out[0].data(), &mine, kWord);
    if (task.verify) fill(out[0].data() + counted, rest, number);
    transport.post_send(kDataTag, out[0].first(size));
    transport.wait_sends();
    transport.wait_receives();
    std::uint64_t theirs = 0;
    std::memcpy(&theirs, in[0].data(), kWord);
    if (theirs == kEnd) return false;
    if ((theirs & mask) != (number & mask)) ++outcome.torn;
    if (task.verify && !is_intact(in[0].data() + counted, rest, number)) ++outcome.torn;
    return true;
  };
  if (transport.rank() != 0) {
    for (++number; exchange(number, task.size);) ++number;
  } else {
    const Latency latency = measure_round_trips(task, [&](std::uint64_t count) {
      for (; count != 0; --count) exchange(++number, task.size);
    });
    ++number;
    exchange(kEnd, std::max(task.size, kWord));
    outcome.value = 2 * latency.one_way_ns;
    outcome.core_share = latency.core_share;
    outcome.percentiles_ns = latency.percentiles_ns;
    for (double& each : outcome.percentiles_ns) each *= 2;
  }
  outcome.messages = number;
  return outcome;
}

}  // namespace weft::tools::perf
