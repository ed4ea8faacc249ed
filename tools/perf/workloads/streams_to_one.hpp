// Streams of several threads of one rank that send to one thread of the other.
#pragma once

#include <cstdint>

#include "perf/workloads/sends_and_receives.hpp"

namespace weft::tools::perf {

template <class Transport>
concept StreamTransport = requires(Transport& transport, ByteSpan buffer) {
  transport.stream();
  transport.post_send_to_stream(0, std::uint64_t{}, buffer);
  transport.post_receive_from_stream(0, std::uint64_t{}, buffer);
  transport.post_receive_from_any_stream(0, std::uint64_t{}, buffer);
};

/// Windows of each thread of rank 0 to the first thread of rank 1, which receives them from any stream, or,
/// where the library cannot do that, from one after the other; then it sends each of them a word. Messages
/// per second at the receiver.
template <class Transport>
Outcome run_streams_to_one(const Task& task, Transport& transport) {
  constexpr int kCollector = 0;
  Outcome outcome;
  std::uint64_t word = 0;
  const auto bytes_of_word = [&] { return std::as_writable_bytes(std::span(&word, 1)); };
  const auto threads = static_cast<std::size_t>(task.threads);
  if (transport.rank() == 0) {
    outcome.role = "sender";
    Buffers buffers(task.window, task.size);
    const Stopwatch watch;
    do {
      transport.post_receive_from_stream(kCollector, kControlTag, bytes_of_word());
      for (std::size_t i = 0; i < task.window; ++i) {
        if (task.verify) fill(buffers[i].data(), task.size, i);
        transport.post_send_to_stream(kCollector, kDataTag, buffers[i]);
      }
      outcome.messages += task.window;
      transport.wait_sends();
      transport.wait_receives();
    } while (word != 0);
    outcome.value = static_cast<double>(outcome.messages) / watch.seconds();
    outcome.core_share = watch.core_share();
    return outcome;
  }
  outcome.role = "receiver";
  if (transport.stream() != kCollector) return outcome;
  Buffers buffers(task.window * threads, task.size);
  const auto receive = [&](bool more) {
    for (std::size_t i = 0; i < task.window * threads; ++i)
      transport.post_receive_from_any_stream(static_cast<int>(i / task.window), kDataTag, buffers[i]);
    transport.wait_receives();
    outcome.messages += task.window * threads;
    if (task.verify)  // which message comes into which buffer is open
      for (std::size_t i = 0; i < task.window * threads; ++i) {
        bool is_one = false;
        for (std::size_t sent = 0; sent < task.window && !is_one; ++sent)
          is_one = is_intact(buffers[i].data(), task.size, sent);
        outcome.torn += is_one ? 0 : 1;
      }
    word = more ? 1 : 0;
    for (int stream = 0; stream < task.threads; ++stream)
      transport.post_send_to_stream(stream, kControlTag, bytes_of_word());
    transport.wait_sends();
  };
  time_windows(task, task.window * threads, outcome, [&] { receive(true); });
  receive(false);
  outcome.parts.clear();
  return outcome;
}

}  // namespace weft::tools::perf
