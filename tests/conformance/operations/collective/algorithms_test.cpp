// The table of algorithms: each brings the right results, also in two levels; names that there are not.
#include "conformance/operations/collective/every_kind.hpp"
#include "support/errors.hpp"

#include <weft/collective/algorithms.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::CollectiveJob;

std::vector<std::string> settings() {
  std::vector<std::string> all;
  for (const CollectiveAlgorithm& row : collective_algorithms())
    all.push_back(std::string(row.collective) + "=" + std::string(row.name));
  return all;
}

class AskedFor : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(in, AskedFor, testing::ValuesIn(settings()), [](const auto& setting) {
  std::string name = setting.param;
  std::ranges::replace_if(
      name, [](char each) { return each == '=' || each == '-'; }, '_');
  return name;
});

TEST_P(AskedFor, brings_what_every_kind_promises) {
  CollectiveJob job(5, {{"collectives", GetParam().c_str()}});
  job.run([](Collective& all, int) {
    for (const std::size_t count : {1, 5000})
      EXPECT_EQ(test::EveryKind(all, count, 5).wrong(), "") << "with " << count << " elements";
  });
}

/// Hosts of as many ranks as there are, of one, and in any order of ranks.
class Levels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(of, Levels, testing::Values("node%r/2", "node%r%2", "node%r/4"));

TEST_P(Levels, bring_what_every_kind_promises) {
  for (const int ranks : {3, 6}) {
    CollectiveJob job(ranks, {{"network", "mixed"}, {"host_id", GetParam()}});
    job.run([](Collective& all, int) {
      for (const std::size_t count : {0, 300, 5000})
        EXPECT_EQ(test::EveryKind(all, count, 5).wrong(), "") << "with " << count << " elements";
    });
  }
}

/// Every order of additions of such numbers has other bits.
TEST_P(Levels, bring_the_same_bits_to_all_and_in_each_run) {
  constexpr int kRanks = 6;
  std::vector<std::vector<double>> results(kRanks);
  for (int turn = 0; turn < 2; ++turn) {
    CollectiveJob job(kRanks, {{"network", "mixed"}, {"host_id", GetParam()}});
    job.run([&](Collective& all, int rank) {
      std::vector<double> mine(40);
      for (std::size_t index = 0; index < mine.size(); ++index)
        mine[index] = 1.0 / static_cast<double>(3 + static_cast<std::size_t>(rank) * 7 + index);
      std::vector<double> sum(mine.size());
      EXPECT_EQ(all.allreduce(mine, sum, operators::Sum{}), Outcome::ok);
      auto& before = results[static_cast<std::size_t>(rank)];
      if (turn == 1) {
        EXPECT_EQ(sum, before);
      }
      before = sum;
    });
  }
  for (const auto& result : results) EXPECT_EQ(result, results.front());
}

TEST(AlgorithmNames, that_there_are_not_are_refused_with_those_that_there_are) {
  const auto refusal = [](const char* value) {
    test::Ranks<Endpoint> ranks(1, {{"collectives", value}});
    return test::error_of([&] { const Collective collective(ranks.runtime(0), ranks.endpoint(0)); });
  };
  test::expect_names(refusal("allreduce=rings"), {"collectives", "allreduce has no algorithm \"rings\"",
                                                  "two-level, doubling, ring, binomial"});
  test::expect_names(refusal("reduce=binomial,sum=ring"),
                     {"there is no collective \"sum\"", "barrier, broadcast, reduce, allreduce"});
  test::expect_names(refusal("barrier"), {"barrier has no algorithm \"\"", "two-level, dissemination"});
  EXPECT_EQ(refusal("barrier=dissemination,allreduce=ring"), "no error");
}

}  // namespace
}  // namespace weft
