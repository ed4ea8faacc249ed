// The reduction whose result all ranks get.
#pragma once

#include "collective/kinds/call_checks.hpp"
#include "collective/kinds/two_level.hpp"

#include <bit>

namespace weft::collective {

struct Allreduce {
  static constexpr auto kKind = detail::CollectiveKind::allreduce;
  static constexpr KindTraits kTraits{
      .name = "allreduce", .reduces = true, .meets_all = true, .has_segments = true};

  static void check(const detail::CollectiveCall& call, int, int) { check_reduced(kTraits, call); }

  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    switch (steps.algorithm()) {
      case Algorithm::two_level:
        return lay_out_two_level(steps, call, rank);
      case Algorithm::ring:
        if (size > 1) return lay_out_ring(steps, call, rank, size);
        break;
      case Algorithm::binomial:
        if (size > 1) return lay_out_tree(steps, call, rank, size);
        break;
      default:
        break;
    }
    double_up(steps, call, call.from, {rank, size, kFirstStep}, [](int relative) { return relative; });
  }

 private:
  static constexpr std::uint32_t kFirstStep = 0;
  struct Meeting {
    int relative;
    int size;
    std::uint32_t step;
  };

  /// By recursive doubling. The ranks beyond the largest power of two first send their elements to a
  /// neighbour, and get the result from it at the end. `rank_of(relative)`: of those that meet.
  template <class Steps, class RankOf>
  static void double_up(Steps& steps, const detail::CollectiveCall& call, const std::byte* mine,
                        const Meeting& meeting, const RankOf& rank_of) {
    const std::size_t bytes = call.count * call.reduction.element;
    const int own = meeting.relative;
    const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(meeting.size)));
    const int extra = meeting.size - core;
    const std::uint32_t lend = meeting.step;
    const std::uint32_t give_back = meeting.step + 1;
    if (own < 2 * extra && own % 2 == 0) {
      steps.send(rank_of(own + 1), {mine, bytes}, lend);
      if (mine == call.to) steps.join();
      steps.receive(rank_of(own + 1), {call.to, bytes}, give_back, mine != call.to);
      steps.join();
      return;
    }
    const auto add = [&](std::byte* arrived, bool is_of_lower_ranks) {
      const bool is_first = call.reduction.is_ordered && is_of_lower_ranks;
      std::byte* const to = is_first ? arrived : call.to;
      steps.compute(to, is_first ? arrived : mine, is_first ? mine : arrived, call.count);
      mine = to;
    };
    if (own < 2 * extra) {
      std::byte* const arrived = steps.receive_part(rank_of(own - 1), bytes, lend);
      steps.join();
      add(arrived, true);
    }
    const int paired = own < 2 * extra ? own / 2 : own - extra;
    const auto rank_at = [&](int other) { return rank_of(other < extra ? 2 * other + 1 : other + extra); };
    std::uint32_t step = meeting.step + 2;
    for (int bit = 1; bit < core; bit *= 2, ++step) {
      steps.send(rank_at(paired ^ bit), {mine, bytes}, step);
      std::byte* const arrived = steps.receive_part(rank_at(paired ^ bit), bytes, step);
      steps.join();
      add(arrived, (paired & bit) != 0);
    }
    if (mine != call.to) steps.copy(call.to, mine, bytes);
    if (own < 2 * extra) {
      steps.send(rank_of(own - 1), {call.to, bytes}, give_back);
      steps.join();
    }
  }

  template <class Steps>
  static void lay_out_two_level(Steps& steps, const detail::CollectiveCall& call, int rank) {
    const Leaders leaders(steps.hosts(), rank);
    const std::span<std::byte> result{call.to, call.count * call.reduction.element};
    if (!leaders.leads()) {
      steps.send(leaders.own(), {call.from, result.size()}, Leaders::kUp);
      steps.join();
      steps.receive(leaders.own(), result, Leaders::kDown, false);  // where the elements lay that have left
      return steps.join();
    }
    const std::byte* const mine = leaders.add_up(steps, call.to, call.from, result.size(), call.count);
    double_up(steps, call, mine, {leaders.relative(), leaders.count(), Leaders::kBetween},
              [&](int relative) { return leaders.at(relative); });
    leaders.send_down(steps, result);
    steps.join();
  }

  /// In the order of ranks: to rank 0, and from there to all.
  template <class Steps>
  static void lay_out_tree(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    const std::size_t width = call.reduction.element;
    const int lowest =
        rank != 0 ? rank & -rank : static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
    for_each_segment(call, [&](std::size_t first, std::size_t elements) {
      steps.begin_segment();
      const std::span<std::byte> result{call.to + first * width, elements * width};
      const std::byte* mine = call.from + first * width;
      constexpr std::uint32_t step = 0;
      for (int bit = 1; bit < lowest; bit *= 2) {
        if (rank + bit >= size) continue;
        const std::byte* const arrived = steps.receive_part(rank + bit, result.size(), step);
        steps.join();
        steps.compute(result.data(), mine, arrived, elements);
        mine = result.data();
      }
      if (rank != 0) {
        steps.send(rank - lowest, {mine, result.size()}, step);
        steps.join();
        steps.receive(rank - lowest, result, step, false);  // where the elements lay that have left
        steps.join();
      } else if (mine != result.data()) {
        steps.copy(result.data(), mine, result.size());
      }
      for (int child = lowest / 2; child > 0; child /= 2)
        if (rank + child < size) steps.send(rank + child, result, step);
      steps.join();
    });
  }

  /// Around a ring: first each rank collects the sum of one block, then the sums go around.
  template <class Steps>
  static void lay_out_ring(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
    const std::size_t width = call.reduction.element;
    const int right = (rank + 1) % size;
    const int left = (rank + size - 1) % size;
    const auto blocks = static_cast<std::size_t>(size);
    for_each_segment(call, [&](std::size_t first, std::size_t elements) {
      const auto begin = [&](int block) {
        return first + elements * static_cast<std::size_t>(block) / blocks;
      };
      const auto offset = [&](int block) { return begin(block) * width; };
      const auto bytes = [&](int block) { return (begin(block + 1) - begin(block)) * width; };
      steps.begin_segment();
      const std::size_t widest = (elements / blocks + 1) * width;
      std::byte* const arrived[2] = {steps.scratch(widest), steps.scratch(widest)};
      std::uint32_t step = 0;
      for (int round = 0; round < size - 1; ++round, ++step) {
        const int out = (rank + size - round) % size;
        const int in = (rank + 2 * size - round - 1) % size;
        std::byte* const part = arrived[round % 2];
        steps.send(right, {(round == 0 ? call.from : call.to) + offset(out), bytes(out)}, step);
        steps.receive(left, {part, bytes(in)}, step, round < 2);
        steps.join();
        steps.compute(call.to + offset(in), call.from + offset(in), part, begin(in + 1) - begin(in));
      }
      // A sum comes back only after this rank's part of it has been read.
      for (int round = 0; round < size - 1; ++round, ++step) {
        const int out = (rank + 1 + size - round) % size;
        const int in = (rank + size - round) % size;
        steps.send(right, {call.to + offset(out), bytes(out)}, step);
        steps.receive(left, {call.to + offset(in), bytes(in)}, step, true);
        steps.join();
      }
    });
  }
};

}  // namespace weft::collective
