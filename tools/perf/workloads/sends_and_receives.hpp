// Workloads of tagged sends and receives, over any transport.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "base/clock.hpp"
#include "common/statistics.hpp"
#include "common/stopwatch.hpp"
#include "perf/measure/compute.hpp"
#include "perf/measure/fresh_payload.hpp"
#include "perf/measure/payload_content.hpp"
#include "perf/measure/round_trips.hpp"
#include "perf/workloads/transport.hpp"

namespace weft::tools::perf {

// Tags of control messages; data has tags from kDataTag on.
inline constexpr std::uint64_t kControlTag = 1;
inline constexpr std::uint64_t kDataTag = 16;

/// One small control message, with a word in it.
template <class Transport>
class ControlWord {
 public:
  explicit ControlWord(Transport& transport) : transport_(transport) {}
  void expect() { transport_.post_receive(kControlTag, std::as_writable_bytes(std::span(&arriving_, 1))); }
  std::uint64_t wait() {
    transport_.wait_receives();
    return arriving_;
  }
  void send(std::uint64_t word) {
    leaving_ = word;
    transport_.post_send(kControlTag, std::as_bytes(std::span(&leaving_, 1)));
    transport_.wait_sends();
  }

 private:
  Transport& transport_;
  std::uint64_t arriving_ = 0;
  std::uint64_t leaving_ = 0;
};

/// Buffers that share no cache lines, cleared, and touched before anything is timed.
class Buffers {
 public:
  Buffers(std::size_t count, std::size_t size)
      : stride_((size + 63) / 64 * 64),
        size_(size),
        count_(count),
        memory_(stride_ * count + 64),
        first_(memory_.data() + (64 - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64) % 64) {}
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  /// The buffers in turn. Avoids a division where possible: it takes as long as some messages do.
  [[nodiscard]] ByteSpan operator[](std::size_t index) {
    if (index >= count_) index = count_ == 1 ? 0 : index % count_;
    return ByteSpan(first_ + index * stride_, size_);
  }
  /// Distance in bytes from one buffer to the next, except for the last.
  [[nodiscard]] std::size_t stride() const { return stride_; }
  /// Calls each(buffer) for a window: for as many buffers as there are messages, or for the only one
  /// repeatedly. Inlined, and with variables of its own: it takes few of the registers of a loop that posts.
  template <class Each>
  [[gnu::always_inline]] void for_window(std::size_t messages, const Each& each) const {
    const std::size_t size = size_;
    const std::size_t step = count_ == 1 ? 0 : stride_;
    for (std::byte* at = first_; messages != 0; --messages, at += step) each(ByteSpan(at, size));
  }

 private:
  std::size_t stride_;
  std::size_t size_;
  std::size_t count_;
  std::vector<std::byte> memory_;
  std::byte* first_;  // on a line of its own
};

/// The receiver's result for windows: calls `receive()`, which receives `messages`, repeatedly. Messages per
/// second after the warm-up; parts: messages per second of the median call.
template <class Receive>
void time_windows(const Task& task, std::size_t messages, Outcome& outcome, const Receive& receive) {
  for (const Stopwatch warming; warming.seconds() < task.warm_up;) receive();
  std::vector<double> times;
  const Stopwatch watch;
  for (double begin = 0; begin < task.seconds;) {
    receive();
    const double end = watch.seconds();
    times.push_back(end - begin);
    begin = end;
  }
  const auto count = static_cast<double>(messages);
  outcome.value = static_cast<double>(times.size()) * count / watch.seconds();
  outcome.core_share = watch.core_share();
  outcome.parts = {count / spread_of(std::move(times)).median};
}

// The loops of a window, in functions of their own: the surrounding code would take their registers.

template <class Transport>
[[gnu::noinline]] void post_sends(Transport& transport, const Compute& compute, const Fresh& fresh,
                                  const Buffers& buffers, std::size_t window) {
  buffers.for_window(
      window, [&](ByteSpan buffer) __attribute__((always_inline)) {
        compute();
        fresh(buffer, window);
        transport.post_send(kDataTag, buffer);
      });
}
template <class Transport>
[[gnu::noinline]] void post_receives(Transport& transport, const Buffers& buffers, std::size_t window) {
  buffers.for_window(
      window, [&](ByteSpan buffer)
                  __attribute__((always_inline)) { transport.post_receive(kDataTag, buffer); });
}

/// Windows of messages of one tag: the receiver posts a window; the sender sends one and waits for the
/// receiver's word that all have arrived. Messages per second at the receiver; parts: messages per second of
/// the median window, which other programs that take a core now and then hardly affect.
template <class Transport>
Outcome run_window(const Task& task, Transport& transport) {
  ControlWord control(transport);
  Buffers buffers(task.verify || task.fresh ? task.window : task.buffers, task.size);
  Outcome outcome;
  std::uint64_t number = 0;
  if (transport.rank() == 0) {
    outcome.role = "sender";
    const Compute compute(task);
    const Stopwatch watch;
    for (bool more = true; more;) {
      control.expect();
      if (task.verify) {
        for (std::size_t i = 0; i < task.window; ++i) fill(buffers[i].data(), task.size, number + i);
      }
      post_sends(transport, compute, Fresh(task), buffers, task.window);
      number += task.window;
      transport.wait_sends();
      more = control.wait() != 0;
    }
    outcome.value = static_cast<double>(number) / watch.seconds();
    outcome.core_share = watch.core_share();
  } else {
    outcome.role = "receiver";
    const auto receive = [&](bool more) {
      post_receives(transport, buffers, task.window);
      number += task.window;
      transport.wait_receives();
      if (task.verify) {
        for (std::size_t i = 0; i < task.window; ++i)
          if (!is_intact(buffers[i].data(), task.size, number - task.window + i)) ++outcome.torn;
      }
      control.send(more ? 1 : 0);
    };
    time_windows(task, task.window, outcome, [&] { receive(true); });
    receive(false);
  }
  outcome.messages = number;
  return outcome;
}

/// Ping-pong: half a round trip, nanoseconds. Each rank posts its receive before it sends. The payload begins
/// with the number of the round trip, as far as it fits; the last message is a word that is no number.
template <class Transport>
Outcome run_ping_pong(const Task& task, Transport& transport) {
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  const std::size_t counted = std::min(task.size, sizeof kEnd);  // bytes of the number
  const std::uint64_t mask = counted == sizeof kEnd ? kEnd : (std::uint64_t{1} << 8 * counted) - 1;
  Buffers out(1, std::max(task.size, sizeof kEnd));
  Buffers in(1, std::max(task.size, sizeof kEnd));
  const Compute compute(task);
  Outcome outcome;
  const auto word = [](ByteSpan buffer) {
    std::uint64_t value = 0;
    std::memcpy(&value, buffer.data(), sizeof value);
    return value;
  };
  const auto say = [&](std::uint64_t value, std::size_t size) {
    std::memcpy(out[0].data(), &value, sizeof value);
    transport.post_send(kDataTag, out[0].first(size));
    transport.wait_sends();
  };
  if (transport.rank() == 0) {
    outcome.role = "sender";
    std::uint64_t number = 0;
    const Latency latency = measure_round_trips(task, [&](std::uint64_t count) {
      for (const std::uint64_t end = number + count; number != end;) {
        transport.post_receive(kDataTag, in[0]);
        compute();
        say(++number, task.size);
        transport.wait_receives();
        if (word(in[0]) != (number & mask)) ++outcome.torn;
      }
    });
    say(kEnd, std::max(task.size, sizeof kEnd));
    outcome.value = latency.one_way_ns;
    outcome.core_share = latency.core_share;
    outcome.percentiles_ns = latency.percentiles_ns;
    outcome.messages = latency.round_trips;
  } else {
    outcome.role = "receiver";
    transport.post_receive(kDataTag, in[0]);
    for (;;) {
      transport.wait_receives();
      const std::uint64_t number = word(in[0]);
      if (number == kEnd) break;
      transport.post_receive(kDataTag, in[0]);
      compute();
      say(number, task.size);
    }
  }
  return outcome;
}

/// Receives with different tags are posted, then the sender is released and sends to them in random order.
/// Nanoseconds per message from the release to the last completion, at the receiver; parts: nanoseconds per
/// post.
template <class Transport>
Outcome run_matching(const Task& task, Transport& transport) {
  const std::size_t count = task.window;
  ControlWord control(transport);
  Buffers buffers(count, task.size);
  Outcome outcome;
  if (transport.rank() == 0) {
    outcome.role = "sender";
    const Compute compute(task);
    std::mt19937_64 random(task.seed);
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::uint64_t round = 0;
    for (;; ++round) {
      control.expect();
      std::ranges::shuffle(order, random);
      if (task.verify)
        for (std::size_t i = 0; i < count; ++i) fill(buffers[i].data(), task.size, round * count + i);
      if (control.wait() == 0) break;
      for (const std::uint32_t index : order) {
        compute();
        transport.post_send(kDataTag + index, buffers[index]);
      }
      transport.wait_sends();
    }
    outcome.messages = round * count;
  } else {
    outcome.role = "receiver";
    std::vector<double> matching;
    std::vector<double> posting;
    std::uint64_t round = 0;
    const auto per_message = [&](std::int64_t ns) {
      return static_cast<double>(ns) / static_cast<double>(count);
    };
    const Stopwatch watch;
    constexpr std::uint64_t kFirst = 2;  // rounds that only warm up
    while (round < kFirst + 1 || watch.seconds() < task.seconds + task.warm_up) {
      const std::int64_t start = base::now_ns();
      for (std::size_t i = 0; i < count; ++i) transport.post_receive(kDataTag + i, buffers[i]);
      const std::int64_t posted = base::now_ns();
      control.send(1);
      transport.wait_receives();
      const std::int64_t end = base::now_ns();
      if (round >= kFirst) {
        posting.push_back(per_message(posted - start));
        matching.push_back(per_message(end - posted));
      }
      if (task.verify)
        for (std::size_t i = 0; i < count; ++i)
          if (!is_intact(buffers[i].data(), task.size, round * count + i)) ++outcome.torn;
      ++round;
    }
    outcome.core_share = watch.core_share();
    control.send(0);
    const Spread spread = spread_of(std::move(matching));
    outcome.value = spread.median;
    outcome.parts = {spread_of(std::move(posting)).median, spread.low};
    outcome.messages = round * count;
  }
  return outcome;
}

}  // namespace weft::tools::perf
