// The barrier, by dissemination; between the leaders only, where there are several hosts.
#pragma once

#include "collective/kinds/two_level.hpp"

namespace weft::collective {

struct Barrier {
  static constexpr auto kKind = detail::CollectiveKind::barrier;
  static constexpr KindTraits kTraits{.name = "barrier", .meets_all = true};

  static void check(const detail::CollectiveCall&, int, int) {}

  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall&, int rank, int size) {
    if (steps.algorithm() == Algorithm::two_level) return lay_out_two_level(steps, rank);
    disseminate(steps, rank, size, 0, [](int relative) { return relative; });
  }

 private:
  /// `rank_at(relative)`: of those that meet.
  template <class Steps, class RankAt>
  static void disseminate(Steps& steps, int relative, int size, std::uint32_t step, const RankAt& rank_at) {
    for (int distance = 1; distance < size; distance *= 2, ++step) {
      steps.send(rank_at((relative + distance) % size), {}, step);
      steps.receive(rank_at((relative + size - distance) % size), {}, step, true);
      steps.join();
    }
  }

  template <class Steps>
  static void lay_out_two_level(Steps& steps, int rank) {
    const Leaders leaders(steps.hosts(), rank);
    if (!leaders.leads()) {
      steps.send(leaders.own(), {}, Leaders::kUp);
      steps.receive(leaders.own(), {}, Leaders::kDown, true);
      return steps.join();
    }
    leaders.for_members([&](int member) { steps.receive(member, {}, Leaders::kUp, true); });
    steps.join();
    disseminate(steps, leaders.relative(), leaders.count(), Leaders::kBetween,
                [&](int relative) { return leaders.at(relative); });
    leaders.send_down(steps, {});
    steps.join();
  }
};

}  // namespace weft::collective
