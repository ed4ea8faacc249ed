// Workloads of puts and gets, over any transport that has them.
#pragma once

#include <algorithm>
#include <type_traits>

#include "perf/workloads/sends_and_receives.hpp"

namespace weft::tools::perf {

/// Makes `count` accesses to consecutive blocks, from and to consecutive buffers. kSize 0: `size`. A function
/// of its own, so that its loop has all registers for itself.
template <bool kPuts, std::size_t kSize, bool kComputes, class Transport>
[[gnu::noinline]] void access_blocks(Transport& transport, std::size_t offset, std::byte* buffer,
                                     std::size_t stride, std::size_t size, std::size_t count,
                                     const Compute& compute) {
  auto&& access = transport.access();
  const std::size_t bytes = kSize != 0 ? kSize : size;
  for (; count != 0; --count, offset += bytes, buffer += stride) {
    if constexpr (kComputes) compute();
    if constexpr (kPuts)
      access.post_put(offset, ByteView(buffer, bytes));
    else
      access.post_get(offset, ByteSpan(buffer, bytes));
  }
}

/// Rank 0 accesses the memory of rank 1, block after block, `window` accesses between flushes; accesses per
/// second. Rank 1 waits for the final message, and progresses meanwhile.
template <class Transport>
Outcome run_access(const Task& task, Transport& transport, bool puts) {
  ControlWord control(transport);
  const std::size_t blocks = task.buffers;
  transport.expose(task.size * blocks);
  Buffers own(blocks, task.size);
  const ByteSpan memory = transport.memory();
  Outcome outcome;
  if (transport.rank() == 1) {
    outcome.role = "target";
    for (std::size_t block = 0; block < blocks; ++block)
      fill(memory.data() + block * task.size, task.size, block);
    control.send(1);
    control.expect();
    const std::uint64_t number = control.wait();
    if (puts && task.verify) {
      for (std::size_t block = 0; block < blocks; ++block)
        if (!is_intact(memory.data() + block * task.size, task.size, number + block)) ++outcome.torn;
    }
    control.send(1);
    return outcome;
  }
  outcome.role = "origin";
  control.expect();
  control.wait();
  std::uint64_t number = 0;
  for (std::size_t block = 0; block < blocks; ++block) fill(own[block].data(), task.size, block + 1);
  std::size_t block = 0;
  const Compute compute(task);
  const auto batch = [&] {
    const auto window = [&]<bool kPuts>(std::bool_constant<kPuts>) {
      const auto accesses = [&](const auto& function) {
        for (std::size_t left = task.window; left != 0;) {
          const std::size_t count = std::min(left, blocks - block);
          function(transport, block * task.size, own[block].data(), own.stride(), task.size, count, compute);
          left -= count;
          block = (block + count) % blocks;
        }
      };
      // A program that accesses words knows at compile time that they have 8 bytes.
      if (!compute.is_none())
        accesses(access_blocks<kPuts, 0, true, Transport>);
      else if (task.size == 8)
        accesses(access_blocks<kPuts, 8, false, Transport>);
      else
        accesses(access_blocks<kPuts, 0, false, Transport>);
    };
    puts ? window(std::true_type()) : window(std::false_type());
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
    auto&& access = transport.access();
    for (std::size_t at = 0; at < blocks; ++at) {
      if (puts) fill(own[at].data(), task.size, number + at);
      puts ? access.post_put(at * task.size, own[at]) : access.post_get(at * task.size, own[at]);
    }
    transport.flush();
    for (std::size_t at = 0; at < blocks; ++at)
      if (!puts && !is_intact(own[at].data(), task.size, at)) ++outcome.torn;
  }
  control.expect();
  control.send(number);
  control.wait();
  return outcome;
}

}  // namespace weft::tools::perf
