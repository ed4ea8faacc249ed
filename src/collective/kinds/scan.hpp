// The prefix reductions: a rank gets the reduction of the ranks up to it, or of those before it.
#pragma once

#include "collective/kinds/call_checks.hpp"

namespace weft::collective {

/// By doubling: after each round a rank knows the reduction of twice as many ranks that end with it. Elements
/// are combined in the order of ranks.
template <class Steps>
void lay_out_scan(Steps& steps, const detail::CollectiveCall& call, int rank, int size, bool is_inclusive) {
  const std::size_t bytes = call.count * call.reduction.element;
  // `run`: of the ranks that are known, this one included; `before`: without it.
  const std::byte* run = call.from;
  const std::byte* before = nullptr;
  std::uint32_t step = 0;
  for (int distance = 1; distance < size; distance *= 2, ++step) {
    const bool sends = rank + distance < size;
    if (sends) steps.send(rank + distance, {run, bytes}, step);
    if (rank < distance) {
      steps.join();
      continue;
    }
    const std::byte* const arrived = steps.receive_part(rank - distance, bytes, step);
    steps.join();
    const auto combine_after = [&](const std::byte* later) {
      std::byte* const both = steps.scratch(bytes);
      steps.compute(both, arrived, later, call.count);
      return both;
    };
    if (!is_inclusive) before = before == nullptr ? arrived : combine_after(before);
    run = combine_after(run);
  }
  const std::byte* const result = is_inclusive ? run : before;
  if (result != nullptr && result != call.to) steps.copy(call.to, result, bytes);
}

struct InclusiveScan {
  static constexpr auto kKind = detail::CollectiveKind::inclusive_scan;
  static constexpr KindTraits kTraits{.name = "inclusive_scan", .reduces = true};

  static void check(const detail::CollectiveCall& call, int, int) { check_reduced(kTraits, call); }
  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    lay_out_scan(steps, call, rank, size, true);
  }
};

struct ExclusiveScan {
  static constexpr auto kKind = detail::CollectiveKind::exclusive_scan;
  static constexpr KindTraits kTraits{.name = "exclusive_scan", .reduces = true};

  static void check(const detail::CollectiveCall& call, int, int) { check_reduced(kTraits, call); }
  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    lay_out_scan(steps, call, rank, size, false);
  }
};

}  // namespace weft::collective
