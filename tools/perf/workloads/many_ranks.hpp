// Workloads of more than two ranks, over any transport that names the rank it talks to.
#pragma once

#include <concepts>

#include "perf/workloads/sends_and_receives.hpp"

namespace weft::tools::perf {

/// Requirements on the transport besides waiting: see transport.hpp.
template <class Transport>
concept RankedTransport = requires(Transport& transport, ByteView bytes, ByteSpan buffer) {
  { transport.ranks() } -> std::convertible_to<int>;
  transport.post_receive_from(0, kDataTag, buffer);
  transport.post_send_to(0, kDataTag, bytes);
};

/// Sends a word from rank 0 to all others.
template <RankedTransport Transport>
class Announcement {
 public:
  explicit Announcement(Transport& transport) : transport_(transport) {}
  void expect() {
    transport_.post_receive_from(0, kControlTag, std::as_writable_bytes(std::span(&word_, 1)));
  }
  std::uint64_t wait() {
    transport_.wait_receives();
    return word_;
  }
  void send(std::uint64_t word) {
    word_ = word;
    for (int rank = 1; rank < transport_.ranks(); ++rank)
      transport_.post_send_to(rank, kControlTag, std::as_bytes(std::span(&word_, 1)));
    transport_.wait_sends();
  }

 private:
  Transport& transport_;
  std::uint64_t word_ = 0;
};

/// The number of a message among all messages of the ranks, for its content.
constexpr std::uint64_t number_of(std::uint64_t index, int source, int target) {
  constexpr std::uint64_t kMostRanks = 16;
  return (index * kMostRanks + static_cast<std::uint64_t>(source)) * kMostRanks +
         static_cast<std::uint64_t>(target);
}

/// The tag of the data that `source` sends: not every library receives by source.
constexpr std::uint64_t data_tag(int source) { return kDataTag + static_cast<std::uint64_t>(source); }

/// Every other rank sends windows to rank 0, which posts the receives of a window of each, waits for all of
/// them and sends a word to all. Messages per second at rank 0; parts: messages per second of the median
/// window.
template <RankedTransport Transport>
Outcome run_many_to_one(const Task& task, Transport& transport) {
  const int rank = transport.rank();
  const auto senders = static_cast<std::size_t>(transport.ranks() - 1);
  Announcement announcement(transport);
  Buffers buffers(rank == 0 ? senders * task.window : task.window, task.size);
  const Compute compute(task);
  Outcome outcome;
  std::uint64_t index = 0;
  if (rank != 0) {
    outcome.role = "sender";
    for (bool more = true; more; more = announcement.wait() != 0) {
      announcement.expect();
      for (std::size_t i = 0; i < task.window; ++i, ++index) {
        compute();
        if (task.verify) fill(buffers[i].data(), task.size, number_of(index, rank, 0));
        transport.post_send_to(0, data_tag(rank), buffers[i]);
      }
      transport.wait_sends();
    }
    outcome.messages = index;
    return outcome;
  }
  outcome.role = "receiver";
  const auto for_all = [&](const auto& each) {
    for (int source = 1; source < transport.ranks(); ++source)
      for (std::size_t i = 0; i < task.window; ++i)
        each(source, buffers[static_cast<std::size_t>(source - 1) * task.window + i], index + i);
  };
  const auto receive = [&](bool more) {
    for_all([&](int source, ByteSpan buffer, std::uint64_t) {
      transport.post_receive_from(source, data_tag(source), buffer);
    });
    transport.wait_receives();
    if (task.verify) {
      for_all([&](int source, ByteSpan buffer, std::uint64_t at) {
        if (!is_intact(buffer.data(), task.size, number_of(at, source, 0))) ++outcome.torn;
      });
    }
    index += task.window;
    announcement.send(more ? 1 : 0);
  };
  time_windows(task, senders * task.window, outcome, [&] { receive(true); });
  receive(false);
  outcome.messages = index * senders;
  return outcome;
}

/// In a step every rank sends a window to every other and waits for its own sends and receives; after a block
/// of steps rank 0 announces whether another follows. Messages of all ranks per second, measured at rank 0;
/// parts: messages per second of the median block.
template <RankedTransport Transport>
Outcome run_all_to_all(const Task& task, Transport& transport) {
  constexpr std::size_t kSteps = 16;  // per block
  const int rank = transport.rank();
  const int ranks = transport.ranks();
  Announcement announcement(transport);
  Buffers in(static_cast<std::size_t>(ranks) * task.window, task.size);
  Buffers out(static_cast<std::size_t>(ranks) * task.window, task.size);
  const Compute compute(task);
  Outcome outcome{.role = rank == 0 ? "receiver" : "sender"};
  std::uint64_t index = 0;
  const auto for_others = [&](const auto& each) {
    // By distance, so that not all ranks send to rank 0 first.
    for (int distance = 1; distance < ranks; ++distance) {
      const int other = (rank + distance) % ranks;
      for (std::size_t i = 0; i < task.window; ++i)
        each(other, static_cast<std::size_t>(other) * task.window + i, index + i);
    }
  };
  const auto step = [&] {
    for_others([&](int source, std::size_t buffer, std::uint64_t) {
      transport.post_receive_from(source, data_tag(source), in[buffer]);
    });
    for_others([&](int target, std::size_t buffer, std::uint64_t at) {
      compute();
      if (task.verify) fill(out[buffer].data(), task.size, number_of(at, rank, target));
      transport.post_send_to(target, data_tag(rank), out[buffer]);
    });
    transport.wait_sends();
    transport.wait_receives();
    if (task.verify) {
      for_others([&](int source, std::size_t buffer, std::uint64_t at) {
        if (!is_intact(in[buffer].data(), task.size, number_of(at, source, rank))) ++outcome.torn;
      });
    }
    index += task.window;
  };
  const auto block = [&](bool more) {
    for (std::size_t i = 0; i < kSteps; ++i) step();
    if (rank == 0) {
      announcement.send(more ? 1 : 0);
      return more;
    }
    announcement.expect();
    return announcement.wait() != 0;
  };
  const auto others = static_cast<std::uint64_t>(ranks - 1);
  if (rank == 0) {
    const std::size_t messages = kSteps * task.window * static_cast<std::size_t>(ranks) * others;
    time_windows(task, messages, outcome, [&] { block(true); });
    block(false);
  } else {
    while (block(true)) {
    }
  }
  outcome.messages = index * others * (rank == 0 ? static_cast<std::uint64_t>(ranks) : 1);
  return outcome;
}

}  // namespace weft::tools::perf
