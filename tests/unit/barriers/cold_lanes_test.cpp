// Lanes of shared memory that are cooled: what a sender writes who has seen the lane hot is found, although
// nobody rings.
#include "conformance/network/stage.hpp"
#include "unit/barriers/barrier_watch.hpp"

#include <gtest/gtest.h>

namespace weft::network::test {
namespace {

using weft::test::BarrierOf;
using weft::test::BarrierWatch;

class ColdLanes : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(stage_.send(0, Stage::to(1, 1), {}), SendResult::sent);
    ASSERT_TRUE(stage_.until([&] { return stage_.notes(1).arrivals.size() == 1; }));
    lane_ = stage_[0].path.lane(1, 0);
    ASSERT_NE(lane_, nullptr);
    ASSERT_EQ(lane_->control->cold.load(), 0U) << "a lane that is polled is hot";
  }
  /// A message whose sender read that the lane is hot before the receiver cooled it.
  void send_as_if_hot() {
    EXPECT_EQ(lane_->control->cold.load(), 1U) << "a lane is cold before the barrier";
    lane_->control->cold.store(0);
    EXPECT_EQ(stage_.port(0).send(Stage::to(1, 2), {}), SendResult::sent);
    lane_->control->cold.store(1);
  }
  static constexpr std::size_t kRanks = 20;
  Stage stage_{kRanks, {{"network", "shm"}}};
  detail::SendLane* lane_ = nullptr;
};

TEST_F(ColdLanes, are_looked_at_again_before_a_thread_parks) {
  int barriers = 0;
  {
    const BarrierWatch watch([&](BarrierOf kind) {
      if (kind != BarrierOf::job || ++barriers > 1) return;
      send_as_if_hot();
    });
    EXPECT_FALSE(stage_.port(1).prepare_park()) << "a message has come: the thread must not sleep";
  }
  EXPECT_EQ(barriers, 1) << "senders may be in other processes";
  EXPECT_TRUE(stage_.until([&] { return stage_.notes(1).arrivals.size() == 2; }));
}

TEST_F(ColdLanes, are_looked_at_again_after_a_sweep) {
  // So many are not all polled, and those that stay silent are cooled.
  for (int rank = 2; rank < int{kRanks}; ++rank)
    ASSERT_EQ(stage_.send(rank, Stage::to(1, 1), {}), SendResult::sent);
  ASSERT_TRUE(stage_.until([&] { return stage_.notes(1).arrivals.size() == kRanks - 1; }));
  int barriers = 0;
  {
    const BarrierWatch watch([&](BarrierOf kind) {
      if (kind != BarrierOf::job || ++barriers > 1) return;
      send_as_if_hot();
    });
    // A lane is idle that has brought nothing between two sweeps, of which there is one in some hundred
    // polls.
    for (int polls = 0; barriers == 0 && polls < 100'000; ++polls) stage_[1].poll();
  }
  EXPECT_EQ(barriers, 1) << "a sweep that cools a lane looks behind a barrier";
  EXPECT_EQ(lane_->control->cold.load(), 0U) << "a lane with a message is hot";
  EXPECT_TRUE(stage_.until([&] { return stage_.notes(1).arrivals.size() == kRanks; }));
}

}  // namespace
}  // namespace weft::network::test
