// Workloads of puts and gets, over any transport that has them.
#pragma once

#include "perf/two_sided.hpp"

namespace weft::tools::perf {

/// Rank 0 accesses the memory of rank 1, place after place, `window` accesses between flushes; accesses per
/// second. Rank 1 waits for the word that it is over, and progresses meanwhile.
template <class Transport>
Outcome run_access(const Task& task, Transport& transport, bool puts) {
  ControlWord control(transport);
  const std::size_t places = task.buffers;
  transport.expose(task.size * places);
  Buffers own(places, task.size);
  const ByteSpan memory = transport.memory();
  Outcome outcome;
  if (transport.rank() == 1) {
    outcome.role = "target";
    for (std::size_t place = 0; place < places; ++place)
      fill(memory.data() + place * task.size, task.size, place);
    control.send(1);
    control.expect();
    const std::uint64_t number = control.wait();
    if (puts && task.verify) {
      for (std::size_t place = 0; place < places; ++place)
        if (!is_intact(memory.data() + place * task.size, task.size, number + place)) ++outcome.torn;
    }
    control.send(1);
    return outcome;
  }
  outcome.role = "origin";
  control.expect();
  control.wait();
  std::uint64_t number = 0;
  for (std::size_t place = 0; place < places; ++place) fill(own[place].data(), task.size, place + 1);
  std::size_t place = 0;
  const Compute compute(task);
  const auto batch = [&] {
    // A loop for either, which keeps what it counts in registers.
    auto window = [&, at = place, count = task.window, size = task.size, end = places,
                   computes = !compute.is_none()](const auto& access) mutable {
      for (; count != 0; --count) {
        if (computes) [[unlikely]]
          compute();
        access(at * size, own[at]);
        if (++at == end) at = 0;
      }
      return at;
    };
    place = puts ? window([&](std::size_t offset, ByteSpan bytes) { transport.post_put(offset, bytes); })
                 : window([&](std::size_t offset, ByteSpan bytes) { transport.post_get(offset, bytes); });
    transport.flush();
    number += task.window;
  };
  for (const Stopwatch warming; warming.seconds() < task.warm_up;) batch();
  const std::uint64_t before = number;
  const Stopwatch watch;
  do batch();
  while (watch.seconds() < task.seconds);
  outcome.value = static_cast<double>(number - before) / watch.seconds();
  outcome.core_share = watch.core_share();
  outcome.messages = number;
  if (task.verify) {
    for (std::size_t at = 0; at < places; ++at) {
      if (puts) fill(own[at].data(), task.size, number + at);
      puts ? transport.post_put(at * task.size, own[at]) : transport.post_get(at * task.size, own[at]);
    }
    transport.flush();
    for (std::size_t at = 0; at < places; ++at)
      if (!puts && !is_intact(own[at].data(), task.size, at)) ++outcome.torn;
  }
  control.expect();
  control.send(number);
  control.wait();
  return outcome;
}

}  // namespace weft::tools::perf
