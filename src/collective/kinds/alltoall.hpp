// The alltoall: every rank sends a block of its own to each rank.
#pragma once

#include "collective/kinds/call_checks.hpp"

namespace weft::collective {

struct Alltoall {
  static constexpr auto kKind = detail::CollectiveKind::alltoall;
  static constexpr KindTraits kTraits{.name = "alltoall"};

  static void check(const detail::CollectiveCall& call, int rank, int size) {
    const auto ranks = static_cast<std::size_t>(size);
    check_blocks(kTraits, call, "the buffer", call.from_counts, call.from_displacements, call.count, ranks);
    check_blocks(kTraits, call, "the result", call.to_counts, call.to_displacements, call.to_count, ranks);
    check_own_block(kTraits, blocks_of_to(call, ranks), rank, blocks_of_from(call, ranks).elements(rank));
    check_apart(kTraits, {call.from, call.count * call.reduction.element},
                {call.to, call.to_count * call.reduction.element}, true);
  }

  /// Directly, with kPartners ranks at a time, or one: in each round all ranks have others.
  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    const auto ranks = static_cast<std::size_t>(size);
    const Blocks out = blocks_of_from(call, ranks);
    const Blocks in = blocks_of_to(call, ranks);
    const std::byte* from = call.from;
    if (from == call.to) {  // in place: what is sent is kept until it has left
      const std::size_t bytes = call.count * call.reduction.element;
      std::byte* const kept = steps.scratch(bytes);
      steps.copy(kept, from, bytes);
      from = kept;
    }
    const bool is_in_place = from != call.from;
    const bool is_pairwise = steps.algorithm() == Algorithm::pairwise;
    for (int offset = 1; offset < size; ++offset) {
      const int to = (rank + offset) % size;
      const int source = (rank + size - offset) % size;
      steps.send(to, out.of(from, to), 0);
      steps.receive(source, in.of(call.to, source), 0, !is_in_place);
      if (is_pairwise || offset % kPartners == 0) steps.join();
    }
    steps.join();
    steps.copy(call.to + in.begin(rank), from + out.begin(rank), out.bytes(rank));
  }
};

}  // namespace weft::collective
