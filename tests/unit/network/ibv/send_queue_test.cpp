#include "network/ibv/connection/send_queue.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace weft::network::ibv {
namespace {

using Ended = std::vector<std::pair<std::uint32_t, bool>>;  // packet, whether it was the last

Work packet(std::uint32_t number) { return {.kind = Work::Kind::packet, .packet = number}; }

Ended complete(SendQueue& queue, std::uint32_t position) {
  Ended ended;
  queue.complete(position, [&](Work& work, bool is_last) { ended.emplace_back(work.packet, is_last); });
  return ended;
}

TEST(SendQueue, ACompletionEndsAllThatWasPostedBefore) {
  SendQueue queue;
  for (std::uint32_t number = 0; number < 4; ++number) queue.add(packet(number), number == 2);
  EXPECT_TRUE(queue.awaits_completion());
  EXPECT_EQ(complete(queue, 2), (Ended{{0, false}, {1, false}, {2, true}}));
  EXPECT_FALSE(queue.awaits_completion());
  EXPECT_EQ(queue.under_way(), 1U);
}

TEST(SendQueue, ACompletionThatComesTwiceIsIgnored) {
  SendQueue queue;
  queue.add(packet(7), true);
  EXPECT_EQ(complete(queue, 0).size(), 1U);
  EXPECT_TRUE(complete(queue, 0).empty());
  EXPECT_TRUE(complete(queue, 5).empty());
}

TEST(SendQueue, ACompletionThatComesTwiceEndsNothingOfWhatFollows) {
  SendQueue queue;
  for (std::uint32_t number = 0; number < 3; ++number) queue.add(packet(number), true);
  EXPECT_EQ(complete(queue, 1).size(), 2U);
  int ended = 0;
  queue.complete(0, [&](Work&, bool) { ++ended; });
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(queue.under_way(), 1U);
}

TEST(SendQueue, OneThatIsNotSignalledMayFail) {
  SendQueue queue;
  for (std::uint32_t number = 0; number < 3; ++number) queue.add(packet(number), false);
  EXPECT_FALSE(queue.awaits_completion());
  EXPECT_EQ(complete(queue, 0), (Ended{{0, true}}));
  EXPECT_EQ(complete(queue, 1), (Ended{{1, true}}));
  queue.add(packet(3), true);
  EXPECT_TRUE(queue.awaits_completion());
}

TEST(SendQueue, AFullQueueAlwaysAwaitsACompletion) {
  SendQueue queue;
  std::uint32_t signalled = 0;
  while (!queue.is_full()) {
    const bool is_due = queue.is_signal_due();
    signalled += is_due ? 1 : 0;
    queue.add(packet(0), is_due);
  }
  EXPECT_EQ(signalled, SendQueue::kDepth / SendQueue::kSignalEvery);
  EXPECT_TRUE(queue.awaits_completion());
}

TEST(SendQueue, PositionsGoOnBeyondTheDepth) {
  SendQueue queue;
  for (std::uint32_t round = 0; round < 5 * SendQueue::kDepth; ++round) {
    const std::uint32_t position = queue.position();
    queue.add(packet(round), true);
    EXPECT_EQ(complete(queue, position), (Ended{{round, true}}));
  }
  EXPECT_EQ(queue.under_way(), 0U);
}

}  // namespace
}  // namespace weft::network::ibv
