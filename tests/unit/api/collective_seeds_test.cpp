// Collectives on the simulated network, by seeds: teams that have members in common, several operations under
// way at a time, delays and messages that overtake each other, ranks that die.
#include "support/collectives.hpp"

#include <weft/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::element;
using Numbers = std::vector<std::uint64_t>;

/// WEFTDEV_SEEDS, or 1000 nightly; tens otherwise.
std::uint32_t seeds() {
  if (const char* given = std::getenv("WEFTDEV_SEEDS"))
    return static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
  return std::getenv("WEFTDEV_NIGHTLY") != nullptr ? 1000 : 15;
}

/// The algorithms are those of reductions that are not commutative.
const AnyReduction& sum_in_order() {
  static const AnyReduction reduction{.element_size = 8,
                                      .apply =
                                          [](void* to, const void* from, std::size_t count, void*) {
                                            for (std::size_t index = 0; index < count; ++index)
                                              static_cast<std::uint64_t*>(to)[index] +=
                                                  static_cast<const std::uint64_t*>(from)[index];
                                          },
                                      .is_commutative = false};
  return reduction;
}

/// What all members of a team call, and what each of them is to have afterwards.
struct Plan {
  CollectiveKind kind;
  int root;
  std::size_t count;  // elements of a block
  std::uint64_t salt;
  bool is_ordered;
};

/// The operation of one rank.
class Part {
 public:
  Part(const Plan& plan, int rank, int size) : plan_(plan), rank_(rank), size_(size) {
    const auto ranks = static_cast<std::size_t>(size);
    const bool sends_all = plan.kind == CollectiveKind::alltoall ||
                           plan.kind == CollectiveKind::reduce_scatter ||
                           (plan.kind == CollectiveKind::scatter && rank == plan.root);
    const bool gets_all = plan.kind == CollectiveKind::allgather || plan.kind == CollectiveKind::alltoall ||
                          (plan.kind == CollectiveKind::gather && rank == plan.root);
    for (int peer = 0; peer < (sends_all ? size : 1); ++peer)
      append(from_, block(rank, sends_all ? peer : 0));
    if (plan.kind == CollectiveKind::barrier) from_.clear();
    if (plan.kind == CollectiveKind::scatter && !sends_all) from_.clear();
    if (plan.kind == CollectiveKind::neighbor_allgather)
      to_.resize(2 * plan.count);
    else if (plan.kind != CollectiveKind::barrier && !(plan.kind == CollectiveKind::gather && !gets_all) &&
             !(plan.kind == CollectiveKind::reduce && rank != plan.root))
      to_.resize(plan.count * (gets_all ? ranks : 1));
    if (plan.kind == CollectiveKind::broadcast && rank == plan.root) to_ = block(rank, 0);
    around_ = {(rank + size - 1) % size, (rank + 1) % size};
  }

  [[nodiscard]] CollectiveOperation make(Collective& collective) {
    CollectiveArguments arguments{.kind = plan_.kind,
                                  .root = plan_.root,
                                  .from = from_.data(),
                                  .to = to_.data(),
                                  .element_size = 8,
                                  .count = from_.size(),
                                  .to_count = to_.size()};
    const AnyReduction sum = [&] {
      AnyReduction reduction = sum_in_order();
      reduction.is_commutative = !plan_.is_ordered;
      return reduction;
    }();
    arguments.reduction = &sum;
    if (plan_.kind == CollectiveKind::neighbor_allgather)
      arguments.sources = arguments.destinations = around_;
    return collective.make(arguments);
  }

  [[nodiscard]] bool is_right() const {
    Numbers expected;
    const auto sum_of = [&](int ranks, int to) {
      Numbers sum(plan_.count);
      for (int rank = 0; rank < ranks; ++rank) {
        const Numbers each = block(rank, to);
        for (std::size_t index = 0; index < sum.size(); ++index) sum[index] += each[index];
      }
      return sum;
    };
    switch (plan_.kind) {
      case CollectiveKind::barrier:
        return true;
      case CollectiveKind::broadcast:
        expected = block(plan_.root, 0);
        break;
      case CollectiveKind::reduce:
        if (rank_ == plan_.root) expected = sum_of(size_, 0);
        break;
      case CollectiveKind::allreduce:
        expected = sum_of(size_, 0);
        break;
      case CollectiveKind::inclusive_scan:
        expected = sum_of(rank_ + 1, 0);
        break;
      case CollectiveKind::exclusive_scan:
        if (rank_ == 0) return true;
        expected = sum_of(rank_, 0);
        break;
      case CollectiveKind::gather:
        if (rank_ != plan_.root) return true;
        [[fallthrough]];
      case CollectiveKind::allgather:
        for (int rank = 0; rank < size_; ++rank) append(expected, block(rank, 0));
        break;
      case CollectiveKind::scatter:
        expected = block(plan_.root, rank_);
        break;
      case CollectiveKind::alltoall:
        for (int rank = 0; rank < size_; ++rank) append(expected, block(rank, rank_));
        break;
      case CollectiveKind::reduce_scatter:
        expected = sum_of(size_, rank_);
        break;
      default:
        for (const int rank : around_) append(expected, block(rank, 0));
        break;
    }
    return to_ == expected;
  }

 private:
  static void append(Numbers& to, const Numbers& from) { to.insert(to.end(), from.begin(), from.end()); }
  [[nodiscard]] Numbers block(int from, int to) const {
    Numbers result(plan_.count);
    for (std::size_t index = 0; index < result.size(); ++index)
      result[index] = element(from, index, plan_.salt + static_cast<std::uint64_t>(to) * 977);
    return result;
  }

  Plan plan_;
  int rank_;
  int size_;
  Numbers from_;
  Numbers to_;
  std::array<int, 2> around_{};
};

class Ended final : public Completion {
 public:
  ~Ended() override { retire(); }
  void signal(Message& message) noexcept override {
    outcome = message.outcome();
    has_ended = true;
  }
  [[nodiscard]] bool ready() const noexcept override { return has_ended; }
  Outcome outcome = Outcome::ok;
  bool has_ended = false;
};

/// Lengths on both sides of what algorithms and messages change at; few long ones.
std::size_t length(std::mt19937& random) {
  constexpr std::size_t kLengths[] = {0, 1, 2, 7, 100, 511, 512, 513, 2000, 4096, 4097};
  if (random() % 40 == 0) return (1 << 20) / 8;
  if (random() % 8 == 0) return 20'000 + random() % 10'000;
  return kLengths[random() % std::size(kLengths)];
}

Plan plan_of(std::mt19937& random, int size) {
  constexpr int kKinds = static_cast<int>(CollectiveKind::neighbor_allgather) + 1;
  return {.kind = static_cast<CollectiveKind>(random() % kKinds),
          .root = static_cast<int>(random() % static_cast<unsigned>(size)),
          .count = length(random),
          .salt = random(),
          .is_ordered = random() % 3 == 0};
}

void run(std::uint32_t seed, bool kills) {
  std::mt19937 random(seed);
  const int count = 1 + static_cast<int>(random() % 9);
  sim::Simulation simulation({.ranks = count, .seed = seed, .gone = 100});
  std::deque<Runtime> runtimes;
  std::deque<Endpoint> endpoints;
  for (int rank = 0; rank < count; ++rank) endpoints.emplace_back(runtimes.emplace_back(simulation, rank));
  // All ranks, and two lists in any order.
  std::vector<std::vector<int>> lists(3);
  for (std::size_t list = 0; list < lists.size(); ++list) {
    lists[list].resize(static_cast<std::size_t>(count));
    std::iota(lists[list].begin(), lists[list].end(), 0);
    if (list == 0) continue;
    std::ranges::shuffle(lists[list], random);
    lists[list].resize(1 + random() % static_cast<unsigned>(count));
  }
  struct Posted {
    std::size_t rank;
    Part part;
    Ended ended;
    Posted(std::size_t of, const Plan& plan, int member, int size) : rank(of), part(plan, member, size) {}
  };
  std::deque<Posted> posted;
  std::deque<std::unique_ptr<Collective>> collectives;  // ended before what they use
  std::vector<std::vector<Plan>> plans(lists.size());
  for (std::size_t list = 0; list < lists.size(); ++list)
    for (int turn = 0; turn < 4; ++turn)
      plans[list].push_back(plan_of(random, static_cast<int>(lists[list].size())));
  /// What each rank posts, next first: its operations of all teams, in any order that keeps those of a team.
  struct Next {
    Collective* collective;
    const Plan* plan;
  };
  std::vector<std::deque<Next>> next(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    std::vector<Collective*> own;
    for (std::size_t list = 0; list < lists.size(); ++list) {
      const Team team(runtimes[place], lists[list]);
      own.push_back(team.rank() < 0 ? nullptr
                                    : collectives
                                          .emplace_back(std::make_unique<Collective>(
                                              runtimes[place], endpoints[place], team,
                                              CollectiveOptions{.key = static_cast<std::uint32_t>(list)}))
                                          .get());
    }
    for (std::size_t turn = 0; turn < plans[0].size(); ++turn)
      for (std::size_t list = 0; list < lists.size(); ++list)
        if (own[list] != nullptr) next[place].push_back({own[list], &plans[list][turn]});
  }
  std::vector<bool> is_dead(static_cast<std::size_t>(count));
  const auto step = [&] {
    const auto rank = static_cast<std::size_t>(random() % static_cast<unsigned>(count));
    if (is_dead[rank]) return;
    endpoints[rank].progress();
    if (next[rank].empty() || random() % 8 != 0) return;
    const Next each = next[rank].front();
    next[rank].pop_front();
    Posted& one = posted.emplace_back(rank, *each.plan, each.collective->rank(), each.collective->size());
    each.collective->post(one.part.make(*each.collective), {.completion = &one.ended});
  };
  const auto are_over = [&](bool all) {
    return (!all || std::ranges::all_of(next, [](const auto& left) { return left.empty(); })) &&
           std::ranges::all_of(posted,
                               [&](const Posted& one) { return is_dead[one.rank] || one.ended.has_ended; });
  };
  if (kills && count > 1) {
    for (auto steps = random() % 3000; steps > 0; --steps) step();
    const auto victim = static_cast<std::size_t>(random() % static_cast<unsigned>(count));
    next[victim].clear();
    // It dies between two operations of its own: what it has sent of the last ones is lost in part.
    const auto is_idle = [&] {
      return std::ranges::all_of(
          posted, [&](const Posted& one) { return one.rank != victim || one.ended.has_ended; });
    };
    ASSERT_TRUE(test::until(is_idle, step)) << "seed " << seed;
    is_dead[victim] = true;
    simulation.kill(static_cast<int>(victim));
  }
  ASSERT_TRUE(test::until([&] { return are_over(true); },
                          [&] {
                            for (int round = 0; round < 100; ++round) step();
                          }))
      << "seed " << seed;
  for (const Posted& one : posted) {
    if (is_dead[one.rank]) continue;
    if (one.ended.outcome == Outcome::ok) {
      EXPECT_TRUE(one.part.is_right()) << "seed " << seed << ", rank " << one.rank;
    } else {
      EXPECT_TRUE(kills && one.ended.outcome == Outcome::peer_failed) << "seed " << seed;
    }
  }
}

TEST(CollectiveSeeds, bring_right_results_whatever_overtakes_what) {
  for (std::uint32_t seed = 1; seed <= seeds() && !testing::Test::HasFatalFailure(); ++seed) run(seed, false);
}

TEST(CollectiveSeeds, end_on_every_rank_that_is_left_when_one_dies) {
  for (std::uint32_t seed = 1; seed <= seeds() && !testing::Test::HasFatalFailure(); ++seed)
    run(seed + 100'000, true);
}

}  // namespace
}  // namespace weft
