// The algorithms of collectives, as steps that are carried out at once (at_once.hpp) or become a graph
// (run.cpp).
//
// `Steps` offers: send(peer, bytes, step) and receive(peer, buffer, step, early), which run at the same time
// until join(); compute(to, a, b, elements) and copy(to, from, bytes), which run after all earlier steps;
// scratch(bytes); receive_part(peer, bytes, step), which is scratch() and an early receive into it;
// begin_segment(), after which steps do not wait for those of earlier segments. An early receive waits for no
// other step: no step uses its buffer before the message has arrived.
#pragma once

#include <weft/collective.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::collective {

// Up to this size algorithms are chosen for latency, beyond it for throughput.
inline constexpr std::size_t kAtOnceBytes = 32 << 10;
inline constexpr std::size_t kSegmentBytes = 128 << 10;
inline constexpr std::size_t kSegments = 16;  // at most, which limits the operations under way

/// Calls `segment(first, elements)` for parts of about the same length; once for an empty buffer.
template <class Segment>
void for_each_segment(const detail::CollectiveCall& call, const Segment& segment) {
  const std::size_t bytes = call.count * call.reduction.element;
  const std::size_t count = std::clamp(bytes / kSegmentBytes, std::size_t{1}, kSegments);
  for (std::size_t number = 0; number < count; ++number) {
    const std::size_t first = call.count * number / count;
    segment(first, call.count * (number + 1) / count - first);
  }
}

template <class Steps>
void lay_out_barrier(Steps& steps, int rank, int size) {
  std::uint32_t step = 0;
  for (int distance = 1; distance < size; distance *= 2, ++step) {
    steps.send((rank + distance) % size, {}, step);
    steps.receive((rank + size - distance) % size, {}, step, true);
    steps.join();
  }
}

/// Broadcast along a binomial tree: the parent of a rank (counted from the root) is the rank without its
/// lowest bit.
template <class Steps>
void lay_out_broadcast(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
  const int place = (rank + size - call.root) % size;
  const auto rank_at = [&](int other) { return (other + call.root) % size; };
  const int lowest =
      place != 0 ? place & -place : static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
  for_each_segment(call, [&](std::size_t first, std::size_t elements) {
    const std::span<std::byte> bytes{call.to + first * call.reduction.element,
                                     elements * call.reduction.element};
    steps.begin_segment();
    if (place != 0) {
      steps.receive(rank_at(place - lowest), bytes, 0, true);
      steps.join();
    }
    for (int child = lowest / 2; child > 0; child /= 2)
      if (place + child < size) steps.send(rank_at(place + child), bytes, 0);
    steps.join();
  });
}

template <class Steps>
void lay_out_reduce(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
  const std::size_t width = call.reduction.element;
  const int place = (rank + size - call.root) % size;
  const auto rank_at = [&](int other) { return (other + call.root) % size; };
  for_each_segment(call, [&](std::size_t first, std::size_t elements) {
    const std::size_t bytes = elements * width;
    steps.begin_segment();
    const std::byte* mine = call.from + first * width;
    std::byte* sum = place == 0 ? call.to + first * width : nullptr;
    for (int bit = 1; bit < size && (place & bit) == 0; bit *= 2) {
      if (place + bit >= size) continue;
      if (sum == nullptr) sum = steps.scratch(bytes);
      const std::byte* arrived = steps.receive_part(rank_at(place + bit), bytes, 0);
      steps.join();
      steps.compute(sum, mine, arrived, elements);
      mine = sum;
    }
    if (place != 0) {
      steps.send(rank_at(place - (place & -place)), {mine, bytes}, 0);
      steps.join();
    } else if (mine != sum) {
      steps.copy(sum, mine, bytes);
    }
  });
}

/// Allreduce by recursive doubling. The ranks beyond the largest power of two first send their elements to a
/// neighbour, and get the result from it at the end.
template <class Steps>
void lay_out_short_allreduce(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
  const std::size_t bytes = call.count * call.reduction.element;
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
  const int extra = size - core;
  constexpr std::uint32_t kLend = 0;
  constexpr std::uint32_t kReturn = 1;
  constexpr std::uint32_t kFirst = 2;
  if (rank < 2 * extra && rank % 2 == 0) {
    steps.send(rank + 1, {call.from, bytes}, kLend);
    steps.receive(rank + 1, {call.to, bytes}, kReturn, true);
    steps.join();
    return;
  }
  const std::byte* mine = call.from;
  const auto add = [&](const std::byte* arrived) {
    steps.compute(call.to, mine, arrived, call.count);
    mine = call.to;
  };
  if (rank < 2 * extra) {
    const std::byte* arrived = steps.receive_part(rank - 1, bytes, kLend);
    steps.join();
    add(arrived);
  }
  const int place = rank < 2 * extra ? rank / 2 : rank - extra;
  const auto rank_at = [&](int other) { return other < extra ? 2 * other + 1 : other + extra; };
  std::uint32_t step = kFirst;
  for (int bit = 1; bit < core; bit *= 2, ++step) {
    steps.send(rank_at(place ^ bit), {mine, bytes}, step);
    const std::byte* arrived = steps.receive_part(rank_at(place ^ bit), bytes, step);
    steps.join();
    add(arrived);
  }
  if (mine != call.to) steps.copy(call.to, mine, bytes);
  if (rank < 2 * extra) {
    steps.send(rank - 1, {call.to, bytes}, kReturn);
    steps.join();
  }
}

/// Allreduce around a ring: first each rank collects the sum of one block, then the sums go around.
template <class Steps>
void lay_out_long_allreduce(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
  const std::size_t width = call.reduction.element;
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;
  const auto blocks = static_cast<std::size_t>(size);
  for_each_segment(call, [&](std::size_t first, std::size_t elements) {
    const auto begin = [&](int block) { return first + elements * static_cast<std::size_t>(block) / blocks; };
    const auto offset = [&](int block) { return begin(block) * width; };
    const auto bytes = [&](int block) { return (begin(block + 1) - begin(block)) * width; };
    steps.begin_segment();
    const std::size_t widest = (elements / blocks + 1) * width;
    std::byte* const arrived[2] = {steps.scratch(widest), steps.scratch(widest)};
    std::uint32_t step = 0;
    for (int round = 0; round < size - 1; ++round, ++step) {
      const int out = (rank + size - round) % size;
      const int in = (rank + 2 * size - round - 1) % size;
      std::byte* const place = arrived[round % 2];
      steps.send(right, {(round == 0 ? call.from : call.to) + offset(out), bytes(out)}, step);
      steps.receive(left, {place, bytes(in)}, step, round < 2);
      steps.join();
      steps.compute(call.to + offset(in), call.from + offset(in), place, begin(in + 1) - begin(in));
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

template <class Steps>
void lay_out(Steps& steps, const detail::CollectiveCall& call, int rank, int size) {
  const std::size_t bytes = call.count * call.reduction.element;
  switch (call.kind) {
    case detail::CollectiveKind::barrier:
      return lay_out_barrier(steps, rank, size);
    case detail::CollectiveKind::broadcast:
      return lay_out_broadcast(steps, call, rank, size);
    case detail::CollectiveKind::reduce:
      return lay_out_reduce(steps, call, rank, size);
    case detail::CollectiveKind::allreduce:
      if (size == 1 || bytes <= kAtOnceBytes) return lay_out_short_allreduce(steps, call, rank, size);
      return lay_out_long_allreduce(steps, call, rank, size);
  }
}

}  // namespace weft::collective
