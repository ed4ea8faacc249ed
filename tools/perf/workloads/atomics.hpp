// Workloads of atomic operations, over any transport that has them.
#pragma once

#include <cstring>

#include "common/stopwatch.hpp"
#include "perf/measure/compute.hpp"
#include "perf/workloads/sends_and_receives.hpp"

namespace weft::tools::perf {

/// Requirements on the transport: see transport.hpp.
template <class Transport>
concept AtomicTransport = requires(Transport& transport, std::size_t offset, std::uint64_t& word) {
  transport.post_add(offset, word);
  transport.post_fetch_add(offset, word, word);
};

/// Rank 0 adds ones to numbers of 64 bits of rank 1, word after word, `window` additions between flushes;
/// additions per second. Rank 1 waits for the final message, and progresses meanwhile.
template <AtomicTransport Transport>
Outcome run_additions(const Task& task, Transport& transport, bool fetches) {
  constexpr std::size_t kSize = sizeof(std::uint64_t);
  ControlWord control(transport);
  const std::size_t words = task.buffers;
  transport.expose(kSize * words);
  Outcome outcome;
  if (transport.rank() == 1) {
    outcome.role = "target";
    std::memset(transport.memory().data(), 0, kSize * words);
    control.send(1);
    control.expect();
    std::uint64_t missing = control.wait();
    for (std::size_t word = 0; word < words; ++word) {
      std::uint64_t count = 0;
      std::memcpy(&count, transport.memory().data() + word * kSize, kSize);
      missing -= count;
    }
    if (task.verify && missing != 0) ++outcome.torn;
    control.send(1);
    return outcome;
  }
  outcome.role = "origin";
  control.expect();
  control.wait();
  std::vector<std::uint64_t> before(words);
  const std::uint64_t one = 1;
  std::uint64_t number = 0;
  std::size_t word = 0;
  const Compute compute(task);
  const auto window = [&](std::size_t count) {
    for (; count != 0; --count) {
      compute();
      if (fetches)
        transport.post_fetch_add(word * kSize, one, before[word]);
      else
        transport.post_add(word * kSize, one);
      ++number;
      if (++word == words) word = 0;
    }
    transport.flush();
  };
  for (const Stopwatch warming; warming.seconds() < task.warm_up;) window(task.window);
  const std::uint64_t warm = number;
  const Stopwatch watch;
  do window(task.window);
  while (watch.seconds() < task.seconds);
  outcome.value = static_cast<double>(number - warm) / watch.seconds();
  outcome.core_share = watch.core_share();
  outcome.messages = number;
  if (task.verify && fetches) {
    // A word has received as many additions as the next one, or one more.
    const std::uint64_t rounds = number / words;
    const std::size_t ahead = word;
    window(words);
    for (std::size_t at = 0; at < words; ++at)
      if (before[at] != rounds + (at < ahead ? 1 : 0)) ++outcome.torn;
  }
  control.expect();
  control.send(number);
  control.wait();
  return outcome;
}

}  // namespace weft::tools::perf
