// A row of cells spread over a ring of ranks. One step is a graph that is built once: the halos travel while
// the inner cells are computed, and the sum over all ranks, itself a graph, closes the step.
#include <weft/weft.hpp>

#include <cstdio>
#include <vector>

namespace {

constexpr std::size_t kCells = 1000;  // of each rank
constexpr int kSteps = 100;
constexpr std::uint64_t kToLeft = 1;
constexpr std::uint64_t kToRight = 2;

std::span<std::byte> place(std::uint64_t& cell) { return std::as_writable_bytes(std::span{&cell, 1}); }

}  // namespace

int main() try {
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  weft::Collective collective{runtime, endpoint};
  const int left = (runtime.rank() + runtime.size() - 1) % runtime.size();
  const int right = (runtime.rank() + 1) % runtime.size();

  std::vector<std::uint64_t> cells(kCells);
  std::vector<std::uint64_t> next(kCells);
  for (std::size_t cell = 0; cell < kCells; ++cell)
    cells[cell] = static_cast<std::uint64_t>(runtime.rank()) * kCells + cell;
  std::uint64_t first = 0, last = 0, before = 0,
                after = 0;  // own outermost cells, and those of the neighbours
  std::uint64_t mine = 0, sum = 0;
  weft::CollectiveOperation add =
      collective.make_allreduce(std::span{&mine, 1}, std::span{&sum, 1}, weft::operators::Sum{});

  weft::Graph step;
  const auto edges = step.add_function([&] { first = cells.front(), last = cells.back(); });
  const auto to_left = step.add_send(endpoint, left, kToLeft, weft::bytes_of(first));
  const auto to_right = step.add_send(endpoint, right, kToRight, weft::bytes_of(last));
  const auto from_left = step.add_receive(endpoint, left, kToRight, place(before));
  const auto from_right = step.add_receive(endpoint, right, kToLeft, place(after));
  const auto inner = step.add_function([&] {
    for (std::size_t cell = 1; cell + 1 < kCells; ++cell)
      next[cell] = cells[cell - 1] + 2 * cells[cell] + cells[cell + 1];
  });
  const auto outer = step.add_function([&] {
    next.front() = before + 2 * cells.front() + cells[1];
    next.back() = cells[kCells - 2] + 2 * cells.back() + after;
    cells.swap(next);
    mine = 0;
    for (const std::uint64_t cell : cells) mine += cell;
  });
  const auto total = step.add_graph(add.graph());
  for (const auto send : {to_left, to_right}) step.order(edges, send);
  for (const auto needed : {edges, inner, from_left, from_right}) step.order(needed, outer);
  step.order(outer, total);

  const std::uint64_t count = kCells * static_cast<std::uint64_t>(runtime.size());
  std::uint64_t expected = count * (count - 1) / 2;
  bool right_sum = true;
  for (int round = 0; round < kSteps; ++round) {
    step.start();
    if (endpoint.wait(step) != weft::Outcome::ok) return 1;
    expected *= 4;  // every cell went into three, counted with their weights; modulo 2^64
    right_sum = right_sum && sum == expected;
  }
  std::printf("rank %d: %d steps, the sum is %s\n", runtime.rank(), kSteps, right_sum ? "right" : "wrong");
  return right_sum ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
