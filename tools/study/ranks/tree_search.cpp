// Unbalanced tree search: every rank counts the nodes that it has, and gives some to ranks that have none.
//
// Within a rank, pieces of the tree are tasks, which workers steal. A rank without tasks asks its neighbours
// in a hypercube, which remember it, and give it half of their nodes as soon as they have enough
// (lifelines: Saraswat et al., PPoPP 2011). When nobody has any nodes, nothing runs and nothing is under
// way: the end is Runtime::wait_quiet().
#include <weft/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "study/ranks/tree_node.hpp"
#include "study/ranks/workload.hpp"

namespace weft::tools::study {

namespace {

using parcel::action;
using parcel::Runtime;

constexpr std::size_t kNodesBetweenLooks = 64;
constexpr std::size_t kLeastShared = 16;  // who has fewer nodes keeps them

struct Search {
  const TreeShape* shape = nullptr;
  std::atomic<std::uint64_t> nodes{0};
  std::atomic<std::uint64_t> leaves{0};
  std::atomic<int> deepest{0};
  std::atomic<std::uint64_t> given{0};  // to other ranks, in nodes
  std::atomic<int> pieces{0};           // tasks of this rank that have nodes
  std::atomic<std::size_t> hungry{0};   // ranks in the list
  std::mutex mutex;
  std::vector<int> waiting;     // ranks that have asked here
  std::vector<bool> has_asked;  // by rank: it knows that this rank has nothing
};
std::unique_ptr<Search> now;

void search(Runtime& runtime, std::vector<TreeNode> nodes);

void begin_piece(Runtime& runtime, std::vector<TreeNode> nodes) {
  now->pieces.fetch_add(1);
  runtime.apply(runtime.rank(), action<&search>, std::move(nodes));
}

void take_nodes(Runtime& runtime, int from, std::vector<TreeNode> nodes) {
  {
    const std::lock_guard lock(now->mutex);
    now->has_asked[static_cast<std::size_t>(from)] = false;
  }
  begin_piece(runtime, std::move(nodes));
}
void remember_hungry(Runtime&, int rank) {
  const std::lock_guard lock(now->mutex);
  now->waiting.push_back(rank);
  now->hungry.store(now->waiting.size(), std::memory_order_relaxed);
}

void ask_neighbours(Runtime& runtime) {
  std::vector<int> asked;
  {
    const std::lock_guard lock(now->mutex);
    for (int bit = 1; bit < 2 * runtime.size(); bit *= 2) {
      const int neighbour = runtime.rank() ^ bit;
      if (neighbour >= runtime.size() || now->has_asked[static_cast<std::size_t>(neighbour)]) continue;
      now->has_asked[static_cast<std::size_t>(neighbour)] = true;
      asked.push_back(neighbour);
    }
  }
  for (const int rank : asked) runtime.apply(rank, action<&remember_hungry>, runtime.rank());
}

/// Every second node: the older ones have the larger trees below them, and both sides need some of these.
std::vector<TreeNode> half_of(std::vector<TreeNode>& nodes) {
  std::vector<TreeNode> given;
  std::vector<TreeNode> kept;
  for (std::size_t index = 0; index < nodes.size(); ++index)
    (index % 2 == 0 ? given : kept).push_back(nodes[index]);
  nodes = std::move(kept);
  return given;
}

void share(Runtime& runtime, std::vector<TreeNode>& nodes) {
  if (now->hungry.load(std::memory_order_relaxed) != 0) {
    int rank = -1;
    {
      const std::lock_guard lock(now->mutex);
      if (!now->waiting.empty()) {
        rank = now->waiting.front();
        now->waiting.erase(now->waiting.begin());
        now->hungry.store(now->waiting.size(), std::memory_order_relaxed);
      }
    }
    if (rank >= 0) {
      std::vector<TreeNode> half = half_of(nodes);
      now->given.fetch_add(half.size(), std::memory_order_relaxed);
      runtime.apply(rank, action<&take_nodes>, runtime.rank(), std::move(half));
      return;
    }
  }
  if (now->pieces.load(std::memory_order_relaxed) < static_cast<int>(runtime.workers()))
    begin_piece(runtime, half_of(nodes));
}

void search(Runtime& runtime, std::vector<TreeNode> nodes) {
  const TreeShape& shape = *now->shape;
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
    if (count % kNodesBetweenLooks == 0 && nodes.size() >= kLeastShared) share(runtime, nodes);
    // Communication moves between tasks.
    if (count == 16 * kNodesBetweenLooks && !nodes.empty()) {
      begin_piece(runtime, std::move(nodes));
      break;
    }
  }
  now->nodes.fetch_add(count, std::memory_order_relaxed);
  now->leaves.fetch_add(leaves, std::memory_order_relaxed);
  int known = now->deepest.load();
  while (known < deepest && !now->deepest.compare_exchange_weak(known, deepest)) {
  }
  if (now->pieces.fetch_sub(1) == 1) ask_neighbours(runtime);
}

struct Counted {
  std::uint64_t nodes = 0;
  std::uint64_t leaves = 0;
  int deepest = 0;
  std::uint64_t given = 0;
};
Counted counted_here() { return {now->nodes, now->leaves, now->deepest, now->given}; }

}  // namespace

Json run_tree(Runtime& runtime, const Json& parameters) {
  now = std::make_unique<Search>();
  now->shape = &shape_of(parameters.value("tree", std::string("T1")));
  now->has_asked.resize(static_cast<std::size_t>(runtime.size()));
  CountersOf counters(runtime);
  const std::int64_t begin = now_ns();
  if (runtime.rank() == 0)
    begin_piece(runtime, {root_of(*now->shape)});
  else
    ask_neighbours(runtime);
  runtime.wait_quiet();
  const auto elapsed = static_cast<double>(now_ns() - begin) * 1e-9;
  Json figures;
  figures["counters"] = counters.changes();
  if (runtime.rank() == 0) {
    Counted total;
    double least = 0;
    double most = 0;
    for (int rank = 0; rank < runtime.size(); ++rank) {
      const Counted there = runtime.async(rank, action<&counted_here>).get();
      total.nodes += there.nodes;
      total.leaves += there.leaves;
      total.given += there.given;
      total.deepest = std::max(total.deepest, there.deepest);
      least =
          rank == 0 ? static_cast<double>(there.nodes) : std::min(least, static_cast<double>(there.nodes));
      most = std::max(most, static_cast<double>(there.nodes));
    }
    const TreeShape& shape = *now->shape;
    if (total.nodes != shape.nodes || total.leaves != shape.leaves || total.deepest != shape.deepest)
      throw Error(fmt::format("tree {} was counted as {} nodes, {} leaves, depth {}; it has {}, {}, {}",
                              shape.name, total.nodes, total.leaves, total.deepest, shape.nodes, shape.leaves,
                              shape.deepest));
    figures["nodes"] = total.nodes;
    figures["leaves"] = total.leaves;
    figures["depth"] = total.deepest;
    figures["given"] = total.given;
    figures["nodes_per_s"] = static_cast<double>(total.nodes) / elapsed;
    figures["balance"] = most > 0 ? least / most : 0;
    figures["elapsed_s"] = elapsed;
  }
  runtime.barrier();
  return figures;
}

}  // namespace weft::tools::study
