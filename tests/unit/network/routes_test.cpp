// The choice between a local and a remote network, and when the remote one is polled.
#include "network/mixed/routes.hpp"
#include "network/mixed/remote_turns.hpp"
#include "support/fake_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace weft::network::mixed {
namespace {

/// Reaches the peers that it is told to reach.
class Neighbours final : public weft::test::FakeNetwork {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "neighbours"; }
  [[nodiscard]] Reach reach(int peer) noexcept override {
    ++asked[peer];
    return reached[peer];
  }
  [[nodiscard]] std::string reason_of_reach(int) override { return "the test says so"; }
  std::map<int, Reach> reached;
  std::map<int, int> asked;
};

class RoutesTest : public testing::Test {
 protected:
  Neighbours local_;
  weft::test::FakeNetwork remote_;
  base::Log log_{base::LogLevel::info, 0};
};

TEST_F(RoutesTest, go_to_the_local_network_where_that_reaches_a_peer) {
  local_.reached = {{0, Network::Reach::local},
                    {1, Network::Reach::local},
                    {2, Network::Reach::remote},
                    {3, Network::Reach::unreachable}};
  Routes routes(4, local_, remote_, base::Log(base::LogLevel::error));
  EXPECT_EQ(routes.of(0), Route::local);
  EXPECT_EQ(routes.of(1), Route::local);
  EXPECT_EQ(routes.of(2), Route::remote);
  EXPECT_EQ(routes.of(3), Route::remote);
  EXPECT_TRUE(routes.needs_remote());
  EXPECT_FALSE(routes.are_all_remote());
}

TEST_F(RoutesTest, are_chosen_once) {
  Routes routes(2, local_, remote_, base::Log(base::LogLevel::error));
  local_.reached[1] = Network::Reach::unknown;
  EXPECT_EQ(routes.of(1), Route::unknown);
  EXPECT_EQ(routes.of(1), Route::unknown);
  EXPECT_EQ(local_.asked[1], 2);
  local_.reached[1] = Network::Reach::remote;
  EXPECT_EQ(routes.of(1), Route::remote);
  local_.reached[1] = Network::Reach::local;
  EXPECT_EQ(routes.of(1), Route::remote);
  EXPECT_EQ(local_.asked[1], 3) << "a final answer is not asked for again";
}

TEST_F(RoutesTest, need_the_remote_network_until_all_ranks_are_known_to_be_local) {
  Routes routes(3, local_, remote_, base::Log(base::LogLevel::error));
  for (const int peer : {0, 1, 2}) local_.reached[peer] = Network::Reach::local;
  EXPECT_EQ(routes.of(0), Route::local);
  EXPECT_EQ(routes.of(2), Route::local);
  EXPECT_TRUE(routes.needs_remote()) << "rank 1 may turn out to be remote, and may write first";
  EXPECT_EQ(routes.of(1), Route::local);
  EXPECT_FALSE(routes.needs_remote());
}

TEST_F(RoutesTest, tell_when_only_this_rank_is_local) {
  local_.reached = {{0, Network::Reach::local}, {1, Network::Reach::remote}, {2, Network::Reach::remote}};
  Routes routes(3, local_, remote_, base::Log(base::LogLevel::error));
  EXPECT_TRUE(routes.is_remote(1));
  EXPECT_FALSE(routes.are_all_remote());
  EXPECT_TRUE(routes.is_remote(2));
  EXPECT_TRUE(routes.are_all_remote());
}

TEST_F(RoutesTest, are_told_once_with_their_reason) {
  local_.reached = {
      {1, Network::Reach::remote}, {2, Network::Reach::local}, {3, Network::Reach::unreachable}};
  Routes routes(4, local_, remote_, log_.in(base::LogModule::mixed));
  testing::internal::CaptureStderr();
  for (int round = 0; round < 2; ++round)
    for (const int peer : {1, 2, 3}) static_cast<void>(routes.of(peer));
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("mixed info: rank 1 is reached by fake: the test says so\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("mixed info: rank 2 is reached by neighbours: the test says so\n"), std::string::npos);
  EXPECT_NE(text.find("mixed warn: rank 3 is reached by fake: the test says so\n"), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
}

/// One poll of a port at `time`; whether the remote network has a turn, in which it delivers nothing.
bool has_turn(RemoteTurns& turns, Polls& polls, bool found, std::int64_t time) {
  polls.count(found);
  return turns.may_be_due(polls) && turns.is_due(polls, [&] { return time; });
}

/// Counts the turns in `count` empty polls of the local network, `nanoseconds` apart.
int turns_in(RemoteTurns& turns, int count, std::int64_t nanoseconds, std::int64_t& time,
             std::size_t delivered = 0) {
  int had = 0;
  Polls polls;
  for (int poll = 0; poll < count; ++poll, time += nanoseconds) {
    if (!has_turn(turns, polls, false, time)) continue;
    turns.polled(delivered);
    ++had;
  }
  return had;
}

TEST(RemoteTurns, come_with_every_empty_poll_while_the_network_is_in_use) {
  RemoteTurns turns;
  std::int64_t time = 0;
  EXPECT_EQ(turns_in(turns, 1000, 10, time, 1), 1000);
  EXPECT_TRUE(turns.is_in_use());
}

TEST(RemoteTurns, become_rare_when_the_network_delivers_nothing) {
  RemoteTurns turns;
  std::int64_t time = 0;
  turns_in(turns, 1000, 10, time);
  EXPECT_FALSE(turns.is_in_use());
  const std::int64_t begin = time;
  const int count = turns_in(turns, 100'000, 10, time);
  EXPECT_GE(count, (time - begin) / RemoteTurns::kQuietInterval - 3);
  EXPECT_LE(count, (time - begin) / RemoteTurns::kQuietInterval + 3);
  turns.use();
  EXPECT_EQ(turns_in(turns, 10, 10, time), 10);
}

TEST(RemoteTurns, come_soon_for_a_program_that_polls_rarely) {
  RemoteTurns turns;
  std::int64_t time = 0;
  turns_in(turns, 1000, 10, time);
  for (int round = 0; round < 100; ++round)
    EXPECT_GE(turns_in(turns, 2 * RemoteTurns::kPollsPerLook, 1'000'000, time), 1);
}

TEST(RemoteTurns, come_for_each_of_several_ports_that_a_thread_polls_in_turn) {
  for (std::uint32_t ports = 1; ports <= 64; ++ports) {
    SCOPED_TRACE(ports);
    std::vector<RemoteTurns> turns(ports);
    std::vector<int> counts(ports);
    Polls polls;
    for (int round = 0; round < 1000; ++round)
      for (std::uint32_t port = 0; port < ports; ++port)
        if (has_turn(turns[port], polls, true, round * std::int64_t{300'000})) ++counts[port];
    EXPECT_GE(*std::min_element(counts.begin(), counts.end()), 80);
  }
}

TEST(RemoteTurns, come_less_often_while_the_local_network_delivers) {
  for (const int finds_one_in : {1, 10}) {
    SCOPED_TRACE(finds_one_in);
    RemoteTurns turns;
    turns.end_use();
    Polls polls;
    int had = 0;
    int poll = 0;
    for (std::int64_t time = 1'000'000'000; time < 1'010'000'000; time += 20)
      if (has_turn(turns, polls, ++poll % finds_one_in == 0, time)) ++had;
    EXPECT_GE(had, 10'000'000 / RemoteTurns::kBusyInterval - 3);
    EXPECT_LE(had, 10'000'000 / RemoteTurns::kBusyInterval + 3);
  }
}

}  // namespace
}  // namespace weft::network::mixed
