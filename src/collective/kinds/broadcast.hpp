// The broadcast, along a binomial tree of all members, or of the leaders of hosts.
#pragma once

#include "collective/kinds/call_checks.hpp"
#include "collective/kinds/two_level.hpp"

#include <bit>

namespace weft::collective {

struct Broadcast {
  static constexpr auto kKind = detail::CollectiveKind::broadcast;
  static constexpr KindTraits kTraits{.name = "broadcast", .has_root = true, .has_segments = true};

  static void check(const detail::CollectiveCall& call, int, int size) { check_root(kTraits, call, size); }

  /// The parent of a rank (counted from the root) is the rank without its
  /// lowest bit.
  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    if (steps.algorithm() == Algorithm::two_level) return lay_out_two_level(steps, call, rank);
    const int relative = (rank + size - call.root) % size;
    const auto rank_at = [&](int other) { return (other + call.root) % size; };
    const int lowest =
        relative != 0 ? relative & -relative : static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
    for_each_segment(call, [&](std::size_t first, std::size_t elements) {
      const std::span<std::byte> bytes{call.to + first * call.reduction.element,
                                       elements * call.reduction.element};
      steps.begin_segment();
      if (relative != 0) {
        steps.receive(rank_at(relative - lowest), bytes, 0, true);
        steps.join();
      }
      for (int child = lowest / 2; child > 0; child /= 2)
        if (relative + child < size) steps.send(rank_at(relative + child), bytes, 0);
      steps.join();
    });
  }

 private:
  template <class Steps>
  static void lay_out_two_level(Steps& steps, const detail::CollectiveCall& call, int rank) {
    const Leaders leaders(steps.hosts(), rank, call.root);
    const int relative = leaders.relative();
    const int lowest = relative != 0
                           ? relative & -relative
                           : static_cast<int>(std::bit_ceil(static_cast<unsigned>(leaders.count())));
    for_each_segment(call, [&](std::size_t first, std::size_t elements) {
      const std::span<std::byte> bytes{call.to + first * call.reduction.element,
                                       elements * call.reduction.element};
      steps.begin_segment();
      if (!leaders.leads()) {
        steps.receive(leaders.own(), bytes, Leaders::kDown, true);
        return steps.join();
      }
      if (relative != 0) {
        steps.receive(leaders.at(relative - lowest), bytes, Leaders::kBetween, true);
        steps.join();
      }
      for (int child = lowest / 2; child > 0; child /= 2)
        if (relative + child < leaders.count())
          steps.send(leaders.at(relative + child), bytes, Leaders::kBetween);
      leaders.send_down(steps, bytes);
      steps.join();
    });
  }
};

}  // namespace weft::collective
