// Exchanges with neighbours only: each rank names those from which it gets a block, and to which it sends
// one.
#pragma once

#include "collective/kinds/call_checks.hpp"

#include <algorithm>

namespace weft::collective {

/// How often a neighbour stands in the list before this index: its messages are told apart by that.
[[nodiscard]] inline std::uint32_t earlier(std::span<const int> ranks, std::size_t index) noexcept {
  return static_cast<std::uint32_t>(
      std::count(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(index), ranks[index]));
}

inline void check_neighbors(const KindTraits& kind, const detail::CollectiveCall& call, int size) {
  for (const std::span<const int> ranks : {call.sources, call.destinations})
    for (const int rank : ranks)
      if (rank < 0 || rank >= size)
        refuse(kind, "neighbor " + std::to_string(rank) + " is not a rank of this Collective (0 to " +
                         std::to_string(size - 1) + ")");
  check_blocks(kind, call, "the result", call.to_counts, call.to_displacements, call.to_count,
               call.sources.size());
  check_apart(kind, {call.from, call.count * call.reduction.element},
              {call.to, call.to_count * call.reduction.element}, false);
}

/// `block_for(index)`: what goes to the destination at this index of the list.
template <class Steps, class BlockFor>
void lay_out_neighbors(Steps& steps, const detail::CollectiveCall& call, const BlockFor& block_for) {
  const Blocks in = blocks_of_to(call, call.sources.size());
  for (std::size_t index = 0; index < call.sources.size(); ++index)
    steps.receive(call.sources[index], in.of(call.to, static_cast<int>(index)), earlier(call.sources, index),
                  true);
  for (std::size_t index = 0; index < call.destinations.size(); ++index)
    steps.send(call.destinations[index], block_for(static_cast<int>(index)),
               earlier(call.destinations, index));
  steps.join();
}

struct NeighborAllgather {
  static constexpr auto kKind = detail::CollectiveKind::neighbor_allgather;
  static constexpr KindTraits kTraits{
      .name = "neighbor_allgather", .length = Length::none, .has_neighbors = true};

  static void check(const detail::CollectiveCall& call, int, int size) {
    check_neighbors(kTraits, call, size);
  }
  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall& call, int, int) {
    lay_out_neighbors(steps, call,
                      [&](int) { return Bytes(call.from, call.count * call.reduction.element); });
  }
};

struct NeighborAlltoall {
  static constexpr auto kKind = detail::CollectiveKind::neighbor_alltoall;
  static constexpr KindTraits kTraits{
      .name = "neighbor_alltoall", .length = Length::none, .has_neighbors = true};

  static void check(const detail::CollectiveCall& call, int, int size) {
    check_neighbors(kTraits, call, size);
    check_blocks(kTraits, call, "the buffer", call.from_counts, call.from_displacements, call.count,
                 call.destinations.size());
  }
  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall& call, int, int) {
    const Blocks out = blocks_of_from(call, call.destinations.size());
    lay_out_neighbors(steps, call, [&](int index) { return out.of(call.from, index); });
  }
};

}  // namespace weft::collective
