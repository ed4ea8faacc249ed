// The scatter: every rank gets its block of the root's buffer.
#pragma once

#include "collective/kinds/call_checks.hpp"

#include <algorithm>
#include <bit>

namespace weft::collective {

struct Scatter {
  static constexpr auto kKind = detail::CollectiveKind::scatter;
  static constexpr KindTraits kTraits{.name = "scatter", .has_root = true, .length = Length::of_to};

  static void check(const detail::CollectiveCall& call, int rank, int size) {
    check_root(kTraits, call, size);
    if (rank != call.root) return;
    const auto ranks = static_cast<std::size_t>(size);
    check_blocks(kTraits, call, "the buffer", call.from_counts, call.from_displacements, call.count, ranks);
    const Blocks blocks = blocks_of_from(call, ranks);
    check_own_block(kTraits, blocks, rank, call.to_count);
    const Bytes mine{call.to, call.to_count * call.reduction.element};
    if (mine.data() != call.from + blocks.begin(rank))
      check_apart(kTraits, mine, {call.from, call.count * call.reduction.element}, false);
  }

  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    const std::size_t bytes = call.to_count * call.reduction.element;
    if (steps.algorithm() == Algorithm::binomial) return lay_out_tree(steps, call, rank, size);
    if (rank != call.root) {
      steps.receive(call.root, {call.to, bytes}, 0, true);
      return steps.join();
    }
    const Blocks blocks = blocks_of_from(call, static_cast<std::size_t>(size));
    for (int offset = 1; offset < size; ++offset) {
      const int peer = (rank + offset) % size;
      steps.send(peer, blocks.of(call.from, peer), 0);
      if (offset % kPartners == 0) steps.join();
    }
    steps.join();
    if (call.to != call.from + blocks.begin(rank)) steps.copy(call.to, call.from + blocks.begin(rank), bytes);
  }

 private:
  /// Along a binomial tree: a rank gets the blocks of its subtree, in the order of ranks counted from the
  /// root, and passes on those of each child.
  template <class Steps>
  static void lay_out_tree(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    const std::size_t bytes = call.to_count * call.reduction.element;
    const int relative = (rank + size - call.root) % size;
    const auto rank_at = [&](int other) { return (other + call.root) % size; };
    const auto length_of = [&](int blocks) { return bytes * static_cast<std::size_t>(blocks); };
    const int lowest =
        relative != 0 ? relative & -relative : static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
    const int subtree = std::min(lowest, size - relative);
    std::byte* const blocks = steps.scratch(length_of(subtree));
    if (relative == 0) {
      steps.copy(blocks, call.from + length_of(call.root), length_of(size - call.root));
      steps.copy(blocks + length_of(size - call.root), call.from, length_of(call.root));
    } else {
      steps.receive(rank_at(relative & (relative - 1)), {blocks, length_of(subtree)}, 0, true);
      steps.join();
    }
    for (int child = lowest / 2; child > 0; child /= 2)
      if (child < subtree)
        steps.send(rank_at(relative + child),
                   {blocks + length_of(child), length_of(std::min(child, subtree - child))}, 0);
    steps.join();
    steps.copy(call.to, blocks, bytes);
  }
};

}  // namespace weft::collective
