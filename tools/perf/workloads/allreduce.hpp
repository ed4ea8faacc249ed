// Sums over all ranks, over any transport whose library has them.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "common/statistics.hpp"
#include "common/stopwatch.hpp"
#include "perf/measure/compute.hpp"
#include "perf/workloads/transport.hpp"

namespace weft::tools::perf {

/// Requirements on the transport: see transport.hpp.
template <class Transport>
concept CollectiveTransport = requires(Transport& transport, std::span<const double> mine,
                                       std::span<double> sum) {
  transport.ranks();
  transport.allreduce(mine, sum);
};

/// One allreduce after the other; the first element, to which only rank 0 contributes, tells all ranks
/// whether more follow. Nanoseconds of each, at rank 0; parts: nanoseconds of the median block.
template <CollectiveTransport Transport>
Outcome run_allreduce(const Task& task, Transport& transport) {
  const std::size_t count = std::max<std::size_t>(task.size / sizeof(double), 1);
  const std::size_t block = task.size <= 16384 ? 64 : 4;  // calls between two reads of the clock
  const int rank = transport.rank();
  std::vector<double> mine(count, 0);
  std::vector<double> sum(count, 0);
  const auto element = [](int of, std::size_t index, std::size_t turn) {
    return static_cast<double>((static_cast<std::size_t>(of) + 1) * (index % 1000 + turn % 1000));
  };
  const Compute compute(task);
  Outcome outcome{.role = rank == 0 ? "receiver" : "sender"};
  std::size_t turn = 0;
  const auto reduce = [&](bool more) {
    compute();
    if (task.verify)
      for (std::size_t index = 1; index < count; ++index) mine[index] = element(rank, index, turn);
    mine[0] = rank == 0 && more ? 1 : 0;
    transport.allreduce(mine, sum);
    if (task.verify) {
      bool intact = sum[0] == 0 || sum[0] == 1;
      for (std::size_t index = 1; index < count; ++index) {
        double expected = 0;
        for (int each = 0; each < transport.ranks(); ++each) expected += element(each, index, turn);
        intact = intact && sum[index] == expected;
      }
      if (!intact) ++outcome.torn;
    }
    ++turn;
    return sum[0] != 0;
  };
  if (rank != 0) {
    while (reduce(true)) {
    }
  } else {
    const auto run_block = [&] {
      for (std::size_t i = 0; i < block; ++i) reduce(true);
    };
    for (const Stopwatch warming; warming.seconds() < task.warm_up;) run_block();
    std::vector<double> times;
    const Stopwatch watch;
    for (double begin = 0; begin < task.seconds;) {
      run_block();
      const double end = watch.seconds();
      times.push_back(end - begin);
      begin = end;
    }
    const double per_operation = 1e9 / static_cast<double>(block);
    outcome.value = watch.seconds() * per_operation / static_cast<double>(times.size());
    outcome.core_share = watch.core_share();
    outcome.parts = {spread_of(std::move(times)).median * per_operation};
    reduce(false);
  }
  outcome.messages = turn;
  return outcome;
}

}  // namespace weft::tools::perf
