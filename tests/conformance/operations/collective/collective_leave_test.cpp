// Ranks that leave as soon as they have what they wanted of a collective, while others have not.
#include "support/collectives.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::elements;
using test::Ranks;
using test::sums;

constexpr int kJobs = 10;

struct LeaveShape {
  int ranks;
  std::size_t count;  // of 8-byte elements
};

class LeaveAfter : public testing::TestWithParam<LeaveShape> {
 protected:
  /// A thread for each rank calls `work(collective, rank)`, which says whether all went well, and leaves.
  template <class Work>
  void run(const Work& work) {
    for (int job = 0; job < kJobs; ++job) {
      Ranks<Endpoint> ranks(GetParam().ranks);
      std::vector<std::unique_ptr<Collective>> collectives;
      for (int rank = 0; rank < ranks.size(); ++rank)
        collectives.push_back(std::make_unique<Collective>(ranks.runtime(rank), ranks.endpoint(rank)));
      std::atomic<int> wrong{0};
      std::vector<std::thread> threads;
      for (int rank = 0; rank < ranks.size(); ++rank)
        threads.emplace_back([&, rank] {
          auto& collective = collectives[static_cast<std::size_t>(rank)];
          if (!work(*collective, rank)) ++wrong;
          collective.reset();
          ranks.leave(rank);
        });
      for (std::thread& thread : threads) thread.join();
      ASSERT_EQ(wrong, 0) << "in job " << job;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(shapes, LeaveAfter,
                         testing::Values(LeaveShape{2, 1}, LeaveShape{3, 1}, LeaveShape{3, 300},
                                         LeaveShape{3, 2'000}, LeaveShape{2, 40'000}, LeaveShape{3, 40'000},
                                         LeaveShape{5, 40'000}),
                         [](const auto& shape) {
                           return std::to_string(shape.param.ranks) + "_ranks_" +
                                  std::to_string(shape.param.count) + "_values";
                         });

TEST_P(LeaveAfter, an_allreduce) {
  const auto [ranks, count] = GetParam();
  run([ranks = ranks, count = count](Collective& collective, int rank) {
    const auto mine = elements(rank, count, 1);
    std::vector<std::uint64_t> result(count);
    return collective.allreduce(mine, result, operators::Sum{}) == Outcome::ok &&
           result == sums(ranks, count, 1);
  });
}

TEST_P(LeaveAfter, a_reduce_that_was_laid_out) {
  const auto [ranks, count] = GetParam();
  run([ranks = ranks, count = count](Collective& collective, int rank) {
    const auto mine = elements(rank, count, 2);
    std::vector<std::uint64_t> result(count);
    CollectiveOperation operation = collective.make_reduce(mine, result, operators::Sum{}, 0);
    operation.start();
    return operation.wait() == Outcome::ok && (rank != 0 || result == sums(ranks, count, 2));
  });
}

TEST_P(LeaveAfter, a_broadcast) {
  const std::size_t count = GetParam().count;
  run([count](Collective& collective, int rank) {
    std::vector<std::uint64_t> values(count, rank == 0 ? 7 : 0);
    return collective.broadcast(values, 0) == Outcome::ok &&
           std::all_of(values.begin(), values.end(), [](std::uint64_t value) { return value == 7; });
  });
}

}  // namespace
}  // namespace weft
