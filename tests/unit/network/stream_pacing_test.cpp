// When the receiver of a lane waits for its sender.
#include "network/shm/lane/stream_pacing.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::network::shm {
namespace {

constexpr std::uint64_t kMask = 1023;
constexpr std::uint64_t kMany = 1000;

class StreamPacingTest : public ::testing::Test {
 protected:
  /// A stream has begun.
  void stream() {
    StreamPacing::Visit visit(pacing_, true);
    visit.took(StreamPacing::kStreamBegins);
    visit.end();
  }
  std::uint64_t most(StreamPacing::Visit& visit, std::uint64_t each, std::uint64_t mask = kMask) {
    return visit.keep_distance(slots_.data(), mask, 0, each, kMany);
  }

  std::vector<detail::Slot> slots_ = std::vector<detail::Slot>(kMask + 1);
  StreamPacing pacing_;
};

TEST_F(StreamPacingTest, lets_single_messages_and_windows_pass) {
  StreamPacing::Visit visit(pacing_, true);
  visit.took(StreamPacing::kStreamBegins - 1);
  EXPECT_EQ(most(visit, 1), kMany);
  EXPECT_FALSE(visit.awaits_more());
}

TEST_F(StreamPacingTest, looks_at_the_distance_of_a_stream_every_block) {
  stream();
  StreamPacing::Visit visit(pacing_, true);
  EXPECT_EQ(most(visit, 1), StreamPacing::kBlock);
  EXPECT_EQ(most(visit, 4), StreamPacing::kBlock / 4);
  EXPECT_EQ(most(visit, 2 * StreamPacing::kBlock), 1U);
  EXPECT_EQ(most(visit, 1, 2 * StreamPacing::kDistance), kMany) << "the ring is too short";
}

TEST_F(StreamPacingTest, waits_at_a_gap_only_after_more_messages_have_come) {
  stream();
  StreamPacing::Visit visit(pacing_, true);
  EXPECT_FALSE(visit.awaits_more()) << "none has come since the last visit";
  visit.end();
  stream();
  StreamPacing::Visit next(pacing_, true);
  next.took(StreamPacing::kStreamGoesOn);
  EXPECT_TRUE(next.awaits_more());
  EXPECT_FALSE(next.awaits_more());
  next.end();
  StreamPacing::Visit last(pacing_, true);
  EXPECT_EQ(most(last, 1), kMany) << "the stream has ended";
}

TEST_F(StreamPacingTest, never_waits_while_other_lanes_are_polled) {
  stream();
  StreamPacing::Visit visit(pacing_, false);
  visit.took(StreamPacing::kStreamGoesOn);
  EXPECT_EQ(most(visit, 1), kMany);
  EXPECT_FALSE(visit.awaits_more());
}

}  // namespace
}  // namespace weft::network::shm
