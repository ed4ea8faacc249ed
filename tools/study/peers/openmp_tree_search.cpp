// Unbalanced tree search by tasks of OpenMP, in one process: what `weft study uts` is compared with. Pieces
// of the tree are tasks; a task gives half of its nodes to another one while threads have none, as the ranks
// of the study do.
//
//     weft-study-openmp TREE THREADS
#include <fmt/core.h>

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "study/ranks/tree_node.hpp"

namespace {

using weft::tools::study::TreeNode;
using weft::tools::study::TreeShape;

constexpr std::size_t kNodesBetweenLooks = 64;
constexpr std::size_t kLeastShared = 16;

struct Counts {
  std::atomic<std::uint64_t> nodes{0};
  std::atomic<std::uint64_t> leaves{0};
  std::atomic<int> deepest{0};
  std::atomic<int> pieces{1};
};

std::vector<TreeNode> half_of(std::vector<TreeNode>& nodes) {
  std::vector<TreeNode> given;
  std::vector<TreeNode> kept;
  for (std::size_t index = 0; index < nodes.size(); ++index)
    (index % 2 == 0 ? given : kept).push_back(nodes[index]);
  nodes = std::move(kept);
  return given;
}

void search(const TreeShape& shape, Counts& counts, std::vector<TreeNode> nodes, int threads) {
  std::uint64_t count = 0;
  std::uint64_t leaves = 0;
  int deepest = 0;
  while (!nodes.empty()) {
    const TreeNode node = nodes.back();
    nodes.pop_back();
    ++count;
    deepest = std::max(deepest, node.depth);
    const int children = children_of(shape, node);
    if (children == 0) ++leaves;
    for (int child = 0; child < children; ++child)
      nodes.push_back(child_of(node, static_cast<std::uint32_t>(child)));
    if (count % kNodesBetweenLooks == 0 && nodes.size() >= kLeastShared &&
        counts.pieces.load(std::memory_order_relaxed) < threads) {
      counts.pieces.fetch_add(1, std::memory_order_relaxed);
      auto* const given = new std::vector<TreeNode>(half_of(nodes));
      const TreeShape* const tree = &shape;
      Counts* const all = &counts;
#pragma omp task default(none) firstprivate(given, tree, all, threads)
      {
        search(*tree, *all, std::move(*given), threads);
        delete given;
      }
    }
  }
  counts.nodes.fetch_add(count, std::memory_order_relaxed);
  counts.leaves.fetch_add(leaves, std::memory_order_relaxed);
  int known = counts.deepest.load();
  while (known < deepest && !counts.deepest.compare_exchange_weak(known, deepest)) {
  }
  counts.pieces.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    int threads = 0;
    const std::string_view number = argc == 3 ? argv[2] : "";
    const auto [end, wrong] = std::from_chars(number.data(), number.data() + number.size(), threads);
    if (wrong != std::errc() || end != number.data() + number.size() || threads < 1) {
      fmt::print(stderr, "usage: weft-study-openmp TREE THREADS\n");
      return 2;
    }
    const TreeShape& shape = weft::tools::study::shape_of(argv[1]);
    Counts counts;
    const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel num_threads(threads) default(none) shared(shape, counts) firstprivate(threads)
#pragma omp single
    search(shape, counts, {root_of(shape)}, threads);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    if (counts.nodes != shape.nodes || counts.leaves != shape.leaves || counts.deepest != shape.deepest) {
      fmt::print(stderr,
                 "weft study: tree {} was counted as {} nodes, {} leaves, depth {}; it has {}, {}, {}\n",
                 shape.name, counts.nodes.load(), counts.leaves.load(), counts.deepest.load(), shape.nodes,
                 shape.leaves, shape.deepest);
      return 1;
    }
    fmt::print("{{\"nodes\":{},\"leaves\":{},\"depth\":{},\"nodes_per_s\":{:.0f},\"elapsed_s\":{:.6f}}}\n",
               counts.nodes.load(), counts.leaves.load(), counts.deepest.load(),
               static_cast<double>(shape.nodes) / elapsed.count(), elapsed.count());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft study: {}\n", error.what());
    return 1;
  }
}
