// A rank that leaves while a rank of its process, which nobody moves meanwhile, has not taken what it sent.
#include <weft/testing/in_process_job.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace weft::network::tcp {
namespace {

using weft::test::until;

/// Leaves as `from` after its last post to the other of two ranks, and says what was written to stderr.
std::string said_by_rank_that_leaves(int from) {
  const std::vector<AttributeSetting> settings = {
      {"network", "tcp"}, {"tcp_authenticate", "no"}, {"drain_timeout", "5"}};
  InProcessJob job(2);
  std::vector<std::unique_ptr<Runtime>> runtimes;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int rank = 0; rank < 2; ++rank) {
    runtimes.push_back(std::make_unique<Runtime>(job, rank, RuntimeOptions{.attributes = settings}));
    endpoints.push_back(std::make_unique<Endpoint>(*runtimes.back()));
  }
  const int to = 1 - from;
  const auto index = [](int rank) { return static_cast<std::size_t>(rank); };
  Counter counter;
  const RemoteCompletion there = runtimes[index(to)]->expose(counter, {.id = 1});
  std::uint64_t posted = 0;
  const auto post = [&] {
    const bool is_accepted = endpoints[index(from)]->post_am(to, there, {}).is_accepted();
    posted += is_accepted ? 1 : 0;
    return is_accepted;
  };
  const auto progress = [&] {
    for (const auto& endpoint : endpoints) endpoint->progress();
  };
  EXPECT_TRUE(until([&] { return post(); }, progress));
  EXPECT_TRUE(until([&] { return counter.value() == posted; }, progress));
  // The last one: from here on nobody moves the other rank.
  EXPECT_TRUE(post());
  testing::internal::CaptureStderr();
  endpoints[index(from)].reset();
  runtimes[index(from)].reset();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(until([&] { return counter.value() == posted; }, [&] { endpoints[index(to)]->progress(); }));
  return said;
}

TEST(TcpLeaving, does_not_wait_for_a_rank_that_nobody_moves_and_loses_nothing) {
  for (const int from : {0, 1}) EXPECT_EQ(said_by_rank_that_leaves(from), "") << "rank " << from;
}

}  // namespace
}  // namespace weft::network::tcp
