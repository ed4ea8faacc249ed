// When the receiver of a lane says how far it has read, and what the sender makes of it.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

using detail::SendLane;
using test::Ranks;

/// Rank 0 sends to a counter of rank 1 through a ring of 64 slots.
class LaneCredit : public testing::Test {
 protected:
  LaneCredit() {
    remote_ = ranks_.runtime(1).expose(arrived_, {.id = 1});
    EXPECT_TRUE(ranks_.post(0, 1, remote_, test::payload(8, 0)).has_value());
    EXPECT_TRUE(ranks_.progress_until([&] { return arrived_.value() == 1; }));
    ranks_.endpoint(1).progress();
    lane_ = ranks_.endpoint(0).path().lane(1, 0);
  }
  bool post() { return ranks_.endpoint(0).post_am(1, remote_, test::payload(8, 1)).is_done(); }
  std::uint64_t credit() const { return lane_->control->credit.load(); }

  Counter arrived_;
  Ranks<SerialEndpoint> ranks_{2, {{"lane_slots", "64"}, {"lane_slots_max", "64"}}};
  RemoteCompletion remote_;
  SendLane* lane_ = nullptr;
};

TEST_F(LaneCredit, is_told_by_the_poll_after_the_message_so_that_an_answer_leaves_before) {
  ASSERT_NE(lane_, nullptr);
  const std::uint64_t before = credit();
  std::uint64_t sent = 1;
  for (; sent < 16; ++sent) {
    ASSERT_TRUE(post());
    ranks_.endpoint(1).progress();
    EXPECT_EQ(credit(), before);
  }
  EXPECT_EQ(arrived_.value(), sent);
  EXPECT_EQ(ranks_.endpoint(1).progress(), 0U);
  EXPECT_EQ(credit(), sent);
}

TEST_F(LaneCredit, is_told_while_messages_go_on_coming) {
  ASSERT_NE(lane_, nullptr);
  for (int lap = 0; lap < 10; ++lap) {
    while (post()) {
    }
    const std::uint64_t tail = lane_->tail();
    // 63 messages in one visit or two: no more than a quarter of the ring is not told of meanwhile.
    ASSERT_TRUE(ranks_.progress_until([&] { return arrived_.value() == tail; }));
    EXPECT_GE(credit() + 17, tail);
  }
}

TEST_F(LaneCredit, lets_a_full_ring_go_on_without_the_slow_way) {
  ASSERT_NE(lane_, nullptr);
  while (post()) {
  }
  const std::uint64_t full_at = lane_->tail();
  EXPECT_FALSE(detail::has_slot(*lane_));
  ASSERT_TRUE(ranks_.progress_until([&] { return arrived_.value() == full_at; }));
  ranks_.endpoint(1).progress();
  EXPECT_EQ(lane_->next, lane_->end);
  EXPECT_TRUE(detail::has_slot(*lane_));
  EXPECT_NE(lane_->next, lane_->end);
  EXPECT_EQ(lane_->tail(), full_at);
}

TEST_F(LaneCredit, that_cannot_be_is_not_believed) {
  ASSERT_NE(lane_, nullptr);
  while (post()) {
  }
  const std::uint64_t honest = credit();
  for (const std::uint64_t wrong : {lane_->tail() + 1, ~std::uint64_t{0}}) {
    lane_->control->credit.store(wrong);
    EXPECT_FALSE(detail::has_slot(*lane_)) << wrong;
  }
  lane_->control->credit.store(honest);
}

}  // namespace
}  // namespace weft
