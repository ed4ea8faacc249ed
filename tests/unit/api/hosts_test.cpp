// Where the ranks of a job are.
#include <weft/error.hpp>
#include <weft/runtime.hpp>
#include <weft/testing/in_process_job.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weft {
namespace {

std::vector<Runtime> join_all(InProcessJob& job, int ranks, const std::string& host_id) {
  std::vector<Runtime> runtimes;
  runtimes.reserve(static_cast<std::size_t>(ranks));
  const std::vector<AttributeSetting> attributes{{"network", "shm"}, {"host_id", host_id.c_str()}};
  for (int rank = 0; rank < ranks; ++rank)
    runtimes.emplace_back(job, rank, RuntimeOptions{.attributes = attributes});
  return runtimes;
}

std::vector<int> places(const Runtime& runtime) {
  std::vector<int> hosts;
  for (int rank = 0; rank < runtime.size(); ++rank) hosts.push_back(runtime.host_of(rank));
  return hosts;
}

std::vector<int> local(const Runtime& runtime) {
  const auto ranks = runtime.local_ranks();
  return {ranks.begin(), ranks.end()};
}

TEST(Hosts, are_one_for_ranks_of_one_host) {
  InProcessJob job(3);
  const auto runtimes = join_all(job, 3, "auto");
  EXPECT_EQ(runtimes[1].hosts(), 1);
  EXPECT_EQ(places(runtimes[1]), (std::vector{0, 0, 0}));
  EXPECT_EQ(local(runtimes[1]), (std::vector{0, 1, 2}));
}

TEST(Hosts, are_as_many_as_the_attribute_names) {
  InProcessJob job(5);
  const auto runtimes = join_all(job, 5, "node%r%2");
  for (const Runtime& runtime : runtimes) {
    EXPECT_EQ(runtime.hosts(), 2);
    EXPECT_EQ(places(runtime), (std::vector{0, 1, 0, 1, 0}));
  }
  EXPECT_EQ(local(runtimes[2]), (std::vector{0, 2, 4}));
  EXPECT_EQ(local(runtimes[3]), (std::vector{1, 3}));
}

TEST(Hosts, are_counted_in_the_order_of_their_first_ranks) {
  InProcessJob job(4);
  const auto runtimes = join_all(job, 4, "node%r/2");
  EXPECT_EQ(places(runtimes[3]), (std::vector{0, 0, 1, 1}));
}

TEST(Hosts, refuse_a_rank_that_does_not_exist) {
  InProcessJob job(2);
  const auto runtimes = join_all(job, 2, "auto");
  for (const int rank : {-1, 2}) {
    try {
      static_cast<void>(runtimes[0].host_of(rank));
      ADD_FAILURE() << rank;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()),
                "host_of: rank " + std::to_string(rank) + " is out of range: 0 to 1");
    }
  }
}

}  // namespace
}  // namespace weft
