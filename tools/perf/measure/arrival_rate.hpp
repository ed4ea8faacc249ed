#pragma once

#include <weft/error.hpp>

#include <fmt/core.h>

#include <cstdint>

#include "base/clock.hpp"
#include "common/stopwatch.hpp"
#include "perf/measure/compute.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {

/// Value of total() until the sender has reported how many messages it sent.
inline constexpr std::uint64_t kUnknownTotal = ~std::uint64_t{0};

struct ArrivalRate {
  double per_second = 0;
  double core_share = 1;
};

/// The receiver's half of a rate round: polls until as many messages have arrived as the sender says, and
/// measures those after the warm-up. Throws weft::Error when messages are missing.
template <class Poll, class Count, class Total>
ArrivalRate measure_arrivals(const Task& task, const Poll& poll, const Count& count, const Total& total) {
  constexpr double kPatience = 5;  // seconds without an arrival after which a message counts as lost
  constexpr std::uint64_t kPollsPerLook = 1 << 16;
  while (count() == 0 && total() == kUnknownTotal) poll();

  const Stopwatch warming;
  const std::uint64_t first = count();
  while (warming.seconds() < task.warm_up && count() < total()) {
    for (int i = 0; i < 64; ++i) poll();
  }
  const Stopwatch timed;
  const std::uint64_t before = count();

  std::uint64_t polls = 0;
  std::uint64_t seen = 0;
  std::int64_t seen_at = 0;
  while (count() < total()) {
    poll();
    if (++polls % kPollsPerLook != 0 || total() == kUnknownTotal) continue;
    if (count() != seen || seen_at == 0) {
      seen = count();
      seen_at = base::now_ns();
    } else if (base::now_ns() - seen_at > base::seconds_to_ns(kPatience)) {
      throw Error(fmt::format("{} of {} messages did not arrive", total() - count(), total()));
    }
  }
  const std::uint64_t all = count();
  if (all != total()) throw Error(fmt::format("{} messages arrived where {} were sent", all, total()));
  // When the warm-up took nearly everything (a machine with other work), all of it is reported.
  const bool all_in_warm_up = timed.seconds() < task.seconds / 4;
  const Stopwatch& watch = all_in_warm_up ? warming : timed;
  const double elapsed = watch.seconds();
  const std::uint64_t messages = all - (all_in_warm_up ? first : before);
  return {elapsed > 0 ? static_cast<double>(messages) / elapsed : 0, watch.core_share()};
}

/// The sender's half: calls send(number) for 0, 1, 2, ... until the time is over; returns the number of
/// messages.
template <class Send>
std::uint64_t send_for(const Task& task, const Send& send) {
  const Compute compute(task);
  const std::int64_t end = base::now_ns() + base::seconds_to_ns(task.seconds + task.warm_up);
  std::uint64_t sent = 0;
  if (compute.is_none()) {
    constexpr std::uint64_t kSendsPerLook = 1024;
    do {
      for (std::uint64_t i = 0; i < kSendsPerLook; ++i) send(sent++);
    } while (base::now_ns() < end);
  } else {
    do {
      compute();
      send(sent++);
    } while (base::now_ns() < end);
  }
  return sent;
}

}  // namespace weft::tools::perf
