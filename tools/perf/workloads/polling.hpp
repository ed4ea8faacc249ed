// Messages back and forth between threads that only poll: no call that waits, no yield of their own.
#pragma once

#include <concepts>
#include <vector>

#include "common/stopwatch.hpp"
#include "perf/workloads/transport.hpp"

namespace weft::tools::perf {

/// Requirements on the transport: start_polling(window); poll(word), which makes one step and returns true
/// when a message has come; poll_send(word), which retries by polling; finish_polling() at the end.
template <class Transport>
concept PollingTransport = requires(Transport& transport, std::uint64_t& word) {
  transport.start_polling(std::size_t{});
  { transport.poll(word) } -> std::same_as<bool>;
  transport.poll_send(word);
  transport.finish_polling();
};

/// A message of the window, and the number of its trips.
class Token {
 public:
  static constexpr std::uint64_t kLast = std::uint64_t{1} << 63;  // the message is not sent again
  static constexpr int kNumberBits = 16;
  static constexpr std::uint64_t kHop = std::uint64_t{1} << kNumberBits;
  [[nodiscard]] static std::size_t number(std::uint64_t word) { return word & (kHop - 1); }
};

/// Rank 0 sends a window of messages; each rank sends back every message, with one trip more. Round trips per
/// second at rank 0.
template <PollingTransport Transport>
Outcome run_polling(const Task& task, Transport& transport) {
  constexpr std::uint64_t kPerLook = 16;  // per clock read: an oversubscribed trip may take a time slice
  Outcome outcome;
  std::size_t live = task.window;
  std::uint64_t word = 0;
  transport.start_polling(task.window);
  if (transport.rank() != 0) {
    outcome.role = "receiver";
    while (live != 0) {
      if (!transport.poll(word)) continue;
      ++outcome.messages;
      if ((word & Token::kLast) != 0) --live;
      transport.poll_send(word + Token::kHop);
    }
    transport.finish_polling();
    return outcome;
  }
  outcome.role = "sender";
  std::vector<std::uint64_t> expected(task.window);
  const auto send = [&](std::uint64_t leaving) {
    expected[Token::number(leaving)] = leaving + Token::kHop;
    transport.poll_send(leaving);
  };
  for (std::size_t number = 0; number < task.window; ++number) send(number);
  std::uint64_t trips = 0;
  const auto take_until = [&](double seconds, bool last) {
    const std::uint64_t before = trips;
    for (const Stopwatch watch;;) {
      if (!transport.poll(word)) continue;
      if (expected[Token::number(word)] != word) ++outcome.torn;
      ++trips;
      if (!last) {
        send(word);
        if (trips % kPerLook != 0 || watch.seconds() < seconds) continue;
        outcome.core_share = watch.core_share();
        outcome.value = static_cast<double>(trips - before) / watch.seconds();
        return;
      }
      if ((word & Token::kLast) == 0)
        send(word | Token::kLast);
      else if (--live == 0)
        return;
    }
  };
  take_until(task.warm_up, false);
  take_until(task.threads > 1 ? 4 * task.seconds : task.seconds, false);
  take_until(0, true);
  transport.finish_polling();
  outcome.messages = trips;
  return outcome;
}

}  // namespace weft::tools::perf
