// The allgather: all ranks get a block of every rank, in the order of ranks.
#pragma once

#include "collective/kinds/call_checks.hpp"

#include <algorithm>

namespace weft::collective {

struct Allgather {
  static constexpr auto kKind = detail::CollectiveKind::allgather;
  static constexpr KindTraits kTraits{.name = "allgather"};

  static void check(const detail::CollectiveCall& call, int rank, int size) {
    check_gathered(kTraits, call, rank, size);
  }

  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    const Blocks blocks = blocks_of_to(call, static_cast<std::size_t>(size));
    if (steps.algorithm() == Algorithm::direct) return lay_out_direct(steps, call, blocks, rank, size);
    if (steps.algorithm() == Algorithm::bruck) return lay_out_bruck(steps, call, rank, size);
    lay_out_ring(steps, call, blocks, rank, size);
  }

 private:
  template <class Steps>
  static void copy_own(Steps& steps, const detail::CollectiveCall& call, const Blocks& blocks, int rank) {
    if (call.from != call.to + blocks.begin(rank))
      steps.copy(call.to + blocks.begin(rank), call.from, blocks.bytes(rank));
  }

  template <class Steps>
  static void lay_out_direct(Steps& steps, const detail::CollectiveCall& call, const Blocks& blocks, int rank,
                             int size) {
    for (int offset = 1; offset < size; ++offset) {
      const int from = (rank + size - offset) % size;
      steps.send((rank + offset) % size, {call.from, blocks.bytes(rank)}, 0);
      steps.receive(from, blocks.of(call.to, from), 0, true);
    }
    steps.join();
    copy_own(steps, call, blocks, rank);
  }

  /// By doubling (Bruck's algorithm): blocks in the order of ranks counted from this one, twice as many after
  /// each round.
  template <class Steps>
  static void lay_out_bruck(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    const std::size_t bytes = call.count * call.reduction.element;
    const auto length_of = [&](int blocks) { return bytes * static_cast<std::size_t>(blocks); };
    std::byte* const blocks = steps.scratch(length_of(size));
    steps.copy(blocks, call.from, bytes);
    std::uint32_t step = 0;
    for (int known = 1; known < size; known *= 2, ++step) {
      const std::size_t length = length_of(std::min(known, size - known));
      steps.send((rank + size - known) % size, {blocks, length}, step);
      steps.receive((rank + known) % size, {blocks + length_of(known), length}, step, true);
      steps.join();
    }
    steps.copy(call.to + length_of(rank), blocks, length_of(size - rank));
    steps.copy(call.to, blocks + length_of(size - rank), length_of(rank));
  }

  template <class Steps>
  static void lay_out_ring(Steps& steps, const detail::CollectiveCall& call, const Blocks& blocks, int rank,
                           int size) {
    for (int round = 0; round < size - 1; ++round) {
      const int out = (rank + size - round) % size;
      const int in = (rank + size - round - 1) % size;
      const auto step = static_cast<std::uint32_t>(round);
      const Bytes sent = round == 0 ? Bytes{call.from, blocks.bytes(rank)} : Bytes{blocks.of(call.to, out)};
      steps.send((rank + 1) % size, sent, step);
      steps.receive((rank + size - 1) % size, blocks.of(call.to, in), step, true);
      steps.join();
    }
    copy_own(steps, call, blocks, rank);
  }
};

}  // namespace weft::collective
