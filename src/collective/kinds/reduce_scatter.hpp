// The reduction of which every rank gets a block of the result.
#pragma once

#include "collective/kinds/call_checks.hpp"

#include <algorithm>
#include <array>

namespace weft::collective {

struct ReduceScatter {
  static constexpr auto kKind = detail::CollectiveKind::reduce_scatter;
  static constexpr KindTraits kTraits{.name = "reduce_scatter", .reduces = true};

  static void check(const detail::CollectiveCall& call, int rank, int size) {
    const auto ranks = static_cast<std::size_t>(size);
    check_blocks(kTraits, call, "the buffer", call.from_counts, call.from_displacements, call.count, ranks);
    const Blocks blocks = blocks_of_from(call, ranks);
    check_own_block(kTraits, blocks, rank, call.to_count);
    const Bytes result{call.to, call.to_count * call.reduction.element};
    if (result.data() != call.from && result.data() != call.from + blocks.begin(rank))
      check_apart(kTraits, result, {call.from, call.count * call.reduction.element}, false);
  }

  /// Directly, with kPartners ranks at a time. A rank adds up its block in the order of ranks counted
  /// downwards from itself, whatever arrives first.
  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    if (call.reduction.is_ordered) return lay_out_ordered(steps, call, rank, size);
    const Blocks blocks = blocks_of_from(call, static_cast<std::size_t>(size));
    const std::size_t bytes = blocks.bytes(rank);
    const std::size_t elements = blocks.elements(rank);
    std::array<std::byte*, kPartners> parts{};
    for (int part = 0; part < std::min(kPartners, size - 1); ++part)
      parts[static_cast<std::size_t>(part)] = steps.scratch(bytes);
    // A result that lies in the buffer is written when the buffer is not needed any more.
    const std::size_t offset_of_to = static_cast<std::size_t>(call.to - call.from);
    const bool is_inside = call.to >= call.from && offset_of_to < call.count * call.reduction.element;
    std::byte* const sum = is_inside ? steps.scratch(bytes) : call.to;
    const std::byte* mine = call.from + blocks.begin(rank);
    for (int first = 1; first < size; first += kPartners) {
      const int end = std::min(first + kPartners, size);
      for (int offset = first; offset < end; ++offset) {
        const int to = (rank + offset) % size;
        steps.send(to, blocks.of(call.from, to), 0);
        steps.receive((rank + size - offset) % size, {parts[static_cast<std::size_t>(offset - first)], bytes},
                      0, first == 1);
      }
      steps.join();
      for (int offset = first; offset < end; ++offset) {
        steps.compute(sum, mine, parts[static_cast<std::size_t>(offset - first)], elements);
        mine = sum;
      }
    }
    if (mine != call.to) steps.copy(call.to, mine, bytes);
  }

 private:
  /// In the order of ranks: a rank has all parts of its block before it adds them up.
  template <class Steps>
  static void lay_out_ordered(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    const Blocks blocks = blocks_of_from(call, static_cast<std::size_t>(size));
    const std::size_t bytes = blocks.bytes(rank);
    std::byte* const parts = steps.scratch(bytes * static_cast<std::size_t>(size - 1));
    const auto part_of = [&](int from) {
      return parts + bytes * static_cast<std::size_t>(from < rank ? from : from - 1);
    };
    for (int offset = 1; offset < size; ++offset) {
      const int to = (rank + offset) % size;
      const int from = (rank + size - offset) % size;
      steps.send(to, blocks.of(call.from, to), 0);
      steps.receive(from, {part_of(from), bytes}, 0, true);
    }
    steps.join();
    const std::byte* const own = call.from + blocks.begin(rank);
    std::byte* const sum = steps.scratch(bytes);  // the result may lie in the buffer
    const auto source = [&](int from) -> const std::byte* { return from == rank ? own : part_of(from); };
    if (size == 1) {
      steps.copy(sum, own, bytes);
    } else {
      steps.compute(sum, source(0), source(1), blocks.elements(rank));
      for (int from = 2; from < size; ++from) steps.compute(sum, sum, source(from), blocks.elements(rank));
    }
    steps.copy(call.to, sum, bytes);
  }
};

}  // namespace weft::collective
