// The gather: the root gets a block of every rank, in the order of ranks.
#pragma once

#include "collective/kinds/call_checks.hpp"

#include <algorithm>

namespace weft::collective {

struct Gather {
  static constexpr auto kKind = detail::CollectiveKind::gather;
  static constexpr KindTraits kTraits{.name = "gather", .has_root = true};

  static void check(const detail::CollectiveCall& call, int rank, int size) {
    check_root(kTraits, call, size);
    if (rank == call.root) check_gathered(kTraits, call, rank, size);
  }

  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    const std::size_t bytes = call.count * call.reduction.element;
    if (steps.algorithm() == Algorithm::binomial) return lay_out_tree(steps, call, rank, size);
    if (rank != call.root) {
      steps.send(call.root, {call.from, bytes}, 0);
      return steps.join();
    }
    const Blocks blocks = blocks_of_to(call, static_cast<std::size_t>(size));
    for (int offset = 1; offset < size; ++offset) {
      const int peer = (rank + offset) % size;
      steps.receive(peer, blocks.of(call.to, peer), 0, true);
      if (offset % kPartners == 0) steps.join();
    }
    steps.join();
    if (call.from != call.to + blocks.begin(rank)) steps.copy(call.to + blocks.begin(rank), call.from, bytes);
  }

 private:
  /// Along a binomial tree: a rank sends the blocks of its subtree, which lie in the order of ranks counted
  /// from the root.
  template <class Steps>
  static void lay_out_tree(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    const std::size_t bytes = call.count * call.reduction.element;
    const int relative = (rank + size - call.root) % size;
    const auto rank_at = [&](int other) { return (other + call.root) % size; };
    const int subtree = relative == 0 ? size : std::min(relative & -relative, size - relative);
    const auto length_of = [&](int blocks) { return bytes * static_cast<std::size_t>(blocks); };
    std::byte* const blocks = steps.scratch(length_of(subtree));
    for (int bit = 1; bit < size && (relative & bit) == 0 && relative + bit < size; bit *= 2)
      steps.receive(rank_at(relative + bit),
                    {blocks + length_of(bit), length_of(std::min(bit, size - relative - bit))}, 0, true);
    steps.join();
    steps.copy(blocks, call.from, bytes);
    if (relative != 0) {
      steps.send(rank_at(relative & (relative - 1)), {blocks, length_of(subtree)}, 0);
      return steps.join();
    }
    steps.copy(call.to + length_of(call.root), blocks, length_of(size - call.root));
    steps.copy(call.to, blocks + length_of(size - call.root), length_of(call.root));
  }
};

}  // namespace weft::collective
