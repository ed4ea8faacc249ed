// A device that the provider does not reach is left to messages for a while, and tried again.
#include "network/ofi/reachability.hpp"

#include <gtest/gtest.h>

namespace weft::network::ofi {
namespace {

constexpr std::int64_t kBegin = 1'000'000'000'000;

TEST(OfiReachability, a_device_is_waited_for_and_then_left_to_messages) {
  Reachability reach;
  EXPECT_FALSE(reach.refused(kBegin));
  EXPECT_FALSE(reach.refused(kBegin + Reachability::kLongestRefusal));
  EXPECT_FALSE(reach.is_given_up());
  EXPECT_TRUE(reach.refused(kBegin + Reachability::kLongestRefusal + 1));
  reach.give_up(kBegin);
  EXPECT_TRUE(reach.is_given_up());
  EXPECT_TRUE(reach.is_paused(kBegin + Reachability::kFirstPause - 1));
  EXPECT_FALSE(reach.is_paused(kBegin + Reachability::kFirstPause));
}

TEST(OfiReachability, a_post_that_is_taken_ends_the_wait_and_the_messages) {
  Reachability reach;
  EXPECT_FALSE(reach.refused(kBegin));
  EXPECT_FALSE(reach.taken());
  EXPECT_FALSE(reach.refused(kBegin + 2 * Reachability::kLongestRefusal));
  reach.give_up(kBegin);
  EXPECT_TRUE(reach.taken());
  EXPECT_FALSE(reach.is_given_up());
  EXPECT_FALSE(reach.is_paused(kBegin));
  EXPECT_FALSE(reach.taken());
}

TEST(OfiReachability, pauses_double_up_to_the_longest_and_begin_again_small) {
  Reachability reach;
  std::int64_t pause = Reachability::kFirstPause;
  for (int round = 0; round < 20; ++round) {
    reach.give_up(kBegin);
    EXPECT_TRUE(reach.is_paused(kBegin + pause - 1)) << round;
    EXPECT_FALSE(reach.is_paused(kBegin + pause)) << round;
    pause = std::min(2 * pause, Reachability::kLongestPause);
  }
  EXPECT_EQ(pause, Reachability::kLongestPause);
  EXPECT_TRUE(reach.taken());
  reach.give_up(kBegin);
  EXPECT_FALSE(reach.is_paused(kBegin + Reachability::kFirstPause));
}

}  // namespace
}  // namespace weft::network::ofi
