// The reduction to one rank, along a binomial tree of all members, or of the leaders of hosts.
#pragma once

#include "collective/kinds/call_checks.hpp"
#include "collective/kinds/two_level.hpp"

namespace weft::collective {

struct Reduce {
  static constexpr auto kKind = detail::CollectiveKind::reduce;
  static constexpr KindTraits kTraits{
      .name = "reduce", .has_root = true, .reduces = true, .has_segments = true};

  static void check(const detail::CollectiveCall& call, int rank, int size) {
    check_root(kTraits, call, size);
    if (call.root == rank) check_reduced(kTraits, call);
  }

  static constexpr std::uint32_t kResult = 1;  // the step of the result, where the root is not the top

  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    if (steps.algorithm() == Algorithm::two_level) return lay_out_two_level(steps, call, rank);
    const std::size_t width = call.reduction.element;
    // In the order of ranks the tree is that of rank 0, which sends the result to the root.
    const int top = call.reduction.is_ordered ? 0 : call.root;
    const int relative = (rank + size - top) % size;
    const auto rank_at = [&](int other) { return (other + top) % size; };
    for_each_segment(call, [&](std::size_t first, std::size_t elements) {
      const std::size_t bytes = elements * width;
      steps.begin_segment();
      const std::byte* mine = call.from + first * width;
      std::byte* const result = rank == call.root ? call.to + first * width : nullptr;
      std::byte* sum = relative == 0 ? result : nullptr;
      for (int bit = 1; bit < size && (relative & bit) == 0; bit *= 2) {
        if (relative + bit >= size) continue;
        if (sum == nullptr) sum = steps.scratch(bytes);
        const std::byte* arrived = steps.receive_part(rank_at(relative + bit), bytes, 0);
        steps.join();
        steps.compute(sum, mine, arrived, elements);
        mine = sum;
      }
      if (relative != 0) {
        steps.send(rank_at(relative - (relative & -relative)), {mine, bytes}, 0);
        steps.join();
      } else if (top != call.root) {
        steps.send(call.root, {mine, bytes}, kResult);
        steps.join();
      } else if (mine != sum) {
        steps.copy(sum, mine, bytes);
      }
      if (rank == call.root && top != call.root) {
        steps.receive(top, {result, bytes}, kResult, false);
        steps.join();
      }
    });
  }

 private:
  template <class Steps>
  static void lay_out_two_level(Steps& steps, const detail::CollectiveCall& call, int rank) {
    const Leaders leaders(steps.hosts(), rank, call.root);
    const int relative = leaders.relative();
    const std::size_t width = call.reduction.element;
    for_each_segment(call, [&](std::size_t first, std::size_t elements) {
      const std::size_t bytes = elements * width;
      const std::byte* mine = call.from + first * width;
      steps.begin_segment();
      if (!leaders.leads()) {
        steps.send(leaders.own(), {mine, bytes}, Leaders::kUp);
        return steps.join();
      }
      std::byte* const sum = relative == 0 ? call.to + first * width : steps.scratch(bytes);
      mine = leaders.add_up(steps, sum, mine, bytes, elements);
      for (int bit = 1; bit < leaders.count() && (relative & bit) == 0; bit *= 2) {
        if (relative + bit >= leaders.count()) continue;
        const std::byte* arrived = steps.receive_part(leaders.at(relative + bit), bytes, Leaders::kBetween);
        steps.join();
        steps.compute(sum, mine, arrived, elements);
        mine = sum;
      }
      if (relative != 0) {
        steps.send(leaders.at(relative - (relative & -relative)), {mine, bytes}, Leaders::kBetween);
        steps.join();
      } else if (mine != sum) {
        steps.copy(sum, mine, bytes);
      }
    });
  }
};

}  // namespace weft::collective
