// Matching contexts that need all members, when one fails; on the simulated network.
#include "support/ranks.hpp"

#include <weft/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace weft {
namespace {

using test::Recorder;

class ContextFailure : public ::testing::TestWithParam<MatchOrder> {
 protected:
  void SetUp() override {
    for (int rank = 0; rank < 3; ++rank) {
      runtimes_.push_back(std::make_unique<Runtime>(simulation_, rank));
      endpoints_.push_back(std::make_unique<Endpoint>(*runtimes_.back()));
    }
  }
  void TearDown() override {
    endpoints_.clear();
    runtimes_.clear();
  }
  [[nodiscard]] bool until(const std::function<bool()>& condition) {
    return test::until(condition, [&] {
      for (auto& endpoint : endpoints_) endpoint->progress();
    });
  }
  [[nodiscard]] MatchingContext context(int rank, std::uint32_t key, bool needs_all,
                                        std::span<const int> members = {}) {
    return MatchingContext(
        runtime(rank), {.order = GetParam(), .key = key, .needs_all_members = needs_all, .members = members});
  }
  [[nodiscard]] bool post(const ContextTag& tag, Recorder& recorder) {
    return endpoint(0).post_receive(2, tag, room_, {.completion = &recorder}).is_posted();
  }
  Runtime& runtime(int rank) { return *runtimes_[static_cast<std::size_t>(rank)]; }
  Endpoint& endpoint(int rank) { return *endpoints_[static_cast<std::size_t>(rank)]; }

  sim::Simulation simulation_{{.ranks = 3, .delay = 10, .refuse = 0, .gone = 100}};
  std::vector<std::unique_ptr<Runtime>> runtimes_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::array<std::byte, 8> room_{};
};

INSTANTIATE_TEST_SUITE_P(Orders, ContextFailure,
                         ::testing::Values(MatchOrder::unordered, MatchOrder::ordered),
                         [](const auto& order) {
                           return order.param == MatchOrder::ordered ? "ordered" : "unordered";
                         });

TEST_P(ContextFailure, ends_what_waits_in_those_that_need_the_member) {
  constexpr std::array<int, 2> kOthers{0, 2};
  const MatchingContext all = context(0, 1, true);
  const MatchingContext others = context(0, 2, true, kOthers);
  const MatchingContext careless = context(0, 3, false);
  const MatchingContext sends_all = context(2, 1, true);
  const MatchingContext sends_others = context(2, 2, true, kOthers);
  Recorder lost;
  Recorder stays;
  ASSERT_TRUE(post(all.tag(1), lost));
  ASSERT_TRUE(post(others.tag(1), stays));
  ASSERT_TRUE(post(careless.tag(1), stays));
  // Announced, and received by nobody yet.
  const std::vector<std::byte> large = test::payload(200'000, 3);
  Recorder sent_to_all;
  Recorder sent_to_others;
  ASSERT_TRUE(endpoint(2).post_send(0, sends_all.tag(9), large, {.completion = &sent_to_all}).is_accepted());
  ASSERT_TRUE(
      endpoint(2).post_send(0, sends_others.tag(9), large, {.completion = &sent_to_others}).is_accepted());
  ProbedMessage found;
  ASSERT_TRUE(until(
      [&] { return endpoint(0).probe(2, all.tag(9), found) && endpoint(0).probe(2, others.tag(9), found); }));
  EXPECT_TRUE(lost.messages.empty());
  simulation_.kill(1);
  ASSERT_TRUE(until([&] { return lost.ready() && sent_to_all.ready(); }));
  EXPECT_EQ(lost.messages[0].outcome(), Outcome::peer_failed);
  EXPECT_EQ(sent_to_all.messages[0].outcome(), Outcome::peer_failed);
  // Those that are posted now end at once; the other contexts go on.
  ASSERT_TRUE(post(all.tag(2), lost));
  ASSERT_EQ(lost.messages.size(), 2U);
  EXPECT_EQ(lost.messages[1].outcome(), Outcome::peer_failed);
  std::vector<std::byte> buffer(large.size());
  Recorder received;
  ASSERT_TRUE(endpoint(0).post_receive(2, others.tag(9), buffer, {.completion = &received}).is_accepted());
  ASSERT_TRUE(until([&] { return received.ready() && sent_to_others.ready(); }));
  EXPECT_EQ(received.messages[0].outcome(), Outcome::ok);
  EXPECT_EQ(sent_to_others.messages[0].outcome(), Outcome::ok);
  EXPECT_TRUE(test::matches(buffer, 3));
  const std::uint64_t value = 5;
  ASSERT_TRUE(endpoint(2).post_send(0, sends_others.tag(1), bytes_of(value)).is_accepted());
  ASSERT_TRUE(until([&] { return stays.ready(); }));
  EXPECT_EQ(stays.messages[0].outcome(), Outcome::ok);
  EXPECT_EQ(stays.messages.size(), 1U) << "nobody has sent in the third";
}

TEST_P(ContextFailure, is_known_to_those_that_are_made_afterwards) {
  simulation_.kill(1);
  ASSERT_TRUE(until([&] { return runtime(0).failed_peers() != 0; }));
  constexpr std::array<int, 2> kOthers{0, 2};
  const MatchingContext all = context(0, 1, true);
  const MatchingContext others = context(0, 2, true, kOthers);
  Recorder lost;
  Recorder stays;
  ASSERT_TRUE(post(others.tag(1), stays));
  ASSERT_TRUE(post(all.tag(1), lost));
  ASSERT_TRUE(until([&] { return lost.ready(); }));
  EXPECT_EQ(lost.messages[0].outcome(), Outcome::peer_failed);
  EXPECT_FALSE(stays.ready());
}

}  // namespace
}  // namespace weft
