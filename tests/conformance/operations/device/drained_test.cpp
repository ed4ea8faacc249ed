// Whether messages are out: peers have taken what a device has sent, whoever was to be told.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string_view>
#include <thread>

namespace weft {
namespace {

using test::matches;
using test::payload;
using test::Ranks;
using namespace std::chrono_literals;

class Drained : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(bytes, Drained, testing::Values(0, 8, 48, 700, 5000, 300'000));

TEST_P(Drained, holds_once_an_active_message_has_been_taken) {
  Ranks ranks(2);
  CompletionQueue queue;
  const RemoteCompletion remote = ranks.runtime(1).expose(queue, {.id = 3});
  ASSERT_TRUE(ranks.meet());
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(0).drained(); }));
  std::vector<std::byte> bytes = payload(GetParam(), 1);
  ASSERT_TRUE(ranks.post(0, 1, remote, bytes).has_value());  // nobody is told
  if (!test::is_message_network(ranks.runtime(0))) {
    EXPECT_FALSE(ranks.endpoint(0).drained()) << "the peer has not progressed since";
    EXPECT_FALSE(ranks.endpoint(0).wait_drained(1ms));
  }
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(0).drained(); }));
  std::fill(bytes.begin(), bytes.end(), std::byte{0xee});  // the buffer is the program's again
  Message message;
  ASSERT_TRUE(ranks.progress_until([&] { return queue.pop(message); }));
  EXPECT_TRUE(matches(message.bytes(), 1));
}

TEST_P(Drained, holds_once_a_send_has_been_taken) {
  Ranks ranks(2);
  ASSERT_TRUE(ranks.meet());
  std::vector<std::byte> bytes = payload(GetParam(), 2);
  std::vector<std::byte> buffer(GetParam());
  Counter received;
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(0).post_send(1, 5, bytes).is_accepted(); }));
  const bool is_large = GetParam() > ranks.endpoint(0).attributes().packet_bytes;
  if (is_large) {
    for (int round = 0; round < 1000; ++round) ranks.progress();
    EXPECT_FALSE(ranks.endpoint(0).drained()) << "it has no receive";
  } else {
    ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(0).drained(); }));
    std::fill(bytes.begin(), bytes.end(), std::byte{0xee});
  }
  ASSERT_TRUE(ranks.progress_until(
      [&] { return ranks.endpoint(1).post_receive(0, 5, buffer, {.completion = &received}).is_accepted(); }));
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(0).drained(); }));
  std::fill(bytes.begin(), bytes.end(), std::byte{0xee});
  ASSERT_TRUE(ranks.progress_until([&] { return received.value() == 1; }));
  EXPECT_TRUE(matches(buffer, 2));
}

TEST(Drained, counts_what_waits_in_the_backlog) {
  Ranks ranks(2, test::with_no_surprises({{"lane_slots", "64"}, {"lane_slots_max", "64"}}));
  Counter counter;
  const RemoteCompletion remote = ranks.runtime(1).expose(counter, {.id = 3});
  ASSERT_TRUE(ranks.meet());
  const std::vector<std::byte> bytes = payload(30, 1);
  std::uint64_t accepted = 0;
  while (accepted < 300 && ranks.endpoint(0).post_am(1, remote, bytes, {.may_retry = false}).is_accepted())
    ++accepted;
  if (ranks.runtime(0).counters().backlog_posts == 0) GTEST_SKIP() << "this network refuses nothing";
  EXPECT_FALSE(ranks.endpoint(0).drained());
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(0).drained(); }));
  ASSERT_TRUE(ranks.progress_until([&] { return counter.value() == accepted; }));
}

TEST(Drained, does_not_count_receives_and_what_others_send) {
  Ranks ranks(2);
  ASSERT_TRUE(ranks.meet());
  std::vector<std::byte> buffer(300'000);
  const std::vector<std::byte> bytes = payload(buffer.size(), 3);
  Counter ended;
  ASSERT_TRUE(ranks.progress_until(
      [&] { return ranks.endpoint(0).post_receive(1, 9, buffer, {.completion = &ended}).is_accepted(); }));
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(0).drained(); }));
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(1).post_send(0, 9, bytes).is_accepted(); }));
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(1).drained() && ended.value() == 1; }));
  EXPECT_TRUE(matches(buffer, 3));
}

TEST(Drained, is_waited_for_while_another_thread_receives) {
  Ranks ranks(2);
  Counter counter;
  const RemoteCompletion remote = ranks.runtime(1).expose(counter, {.id = 3});
  ASSERT_TRUE(ranks.meet());
  std::atomic<bool> stop{false};
  std::thread receiver([&] {
    while (!stop.load()) ranks.endpoint(1).progress();
  });
  std::vector<std::byte> bytes = payload(300'000, 1);
  std::uint64_t sent = 0;
  for (int round = 0; round < 50; ++round) {
    while (ranks.endpoint(0).post_am(1, remote, bytes).is_retry()) ranks.endpoint(0).progress();
    ++sent;
    if (round % 2 == 0) {
      ranks.endpoint(0).wait_drained();
      // Networks that put large messages tell the sender when the bytes are there, just before the receiver.
      if (std::string_view(ranks.runtime(0).network()) == "ibv")
        EXPECT_TRUE(test::until([&] { return counter.value() == sent; }, [] {}));
      else
        EXPECT_EQ(counter.value(), sent);
    } else {
      EXPECT_TRUE(ranks.endpoint(0).wait_drained(test::kHangGuard));
    }
  }
  stop = true;
  receiver.join();
}

TEST(Drained, is_asked_by_any_thread_while_others_send) {
  Ranks ranks(2);
  Counter counter;
  const RemoteCompletion remote = ranks.runtime(1).expose(counter, {.id = 3});
  ASSERT_TRUE(ranks.meet());
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> answers{0};
  std::thread asker([&] {
    while (!stop.load()) {
      answers += ranks.endpoint(0).drained() ? 1 : 0;
      std::this_thread::yield();
    }
  });
  std::uint64_t sent = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::vector<std::byte> bytes = payload(static_cast<std::size_t>(round % 3) * 400, 1);
    ASSERT_TRUE(ranks.post(0, 1, remote, bytes).has_value());
    ++sent;
    if (round % 16 == 0) {
      ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(0).drained(); }));
      EXPECT_EQ(counter.value(), sent);
    }
  }
  stop = true;
  asker.join();
}

}  // namespace
}  // namespace weft
