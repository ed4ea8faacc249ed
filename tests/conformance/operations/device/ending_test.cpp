// Ranks of one process that end while others are slow, or have left.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::matches;
using test::payload;
using test::Ranks;
using test::with_no_surprises;

// Much shorter than what receivers compute: it must not decide over what ranks get that are there.
const std::vector<AttributeSetting> kShort = {{"drain_timeout", "0.05"}};
constexpr auto kComputes = std::chrono::milliseconds(400);

/// Sizes of a slot, of several, of a packet, and beyond.
constexpr std::size_t kSizes[] = {8, 300, 6'000, 200'000};

TEST(Ending, waits_for_a_rank_that_computes_in_another_thread) {
  for (const std::size_t size : kSizes) {
    Ranks<Endpoint> ranks(2, kShort);
    ASSERT_TRUE(ranks.meet());
    const auto bytes = payload(size, 1);
    Status sent = Status::retry(Reason::none);
    ASSERT_TRUE(ranks.progress_until([&] {
      if (sent.is_retry()) sent = ranks.endpoint(0).post_send(1, 5, bytes);
      return sent.is_accepted();
    }));
    std::thread receiver([&] {
      std::this_thread::sleep_for(kComputes);
      std::vector<std::byte> buffer(size);
      const Message message = ranks.endpoint(1).receive(0, 5, buffer);
      EXPECT_EQ(message.outcome(), Outcome::ok) << size;
      EXPECT_TRUE(matches(buffer, 1)) << size;
    });
    ranks.leave(0);
    receiver.join();
  }
}

TEST(Ending, leaves_messages_where_ranks_of_the_only_thread_find_them) {
  for (const std::size_t longest : {std::size_t{8}, std::size_t{300}, std::size_t{6'000}}) {
    Ranks<Endpoint> ranks(2, with_no_surprises(kShort));
    const std::size_t size = std::min(longest, ranks.endpoint(0).attributes().packet_bytes);
    CompletionQueue inbox;
    const RemoteCompletion remote = ranks.runtime(1).expose(inbox, {.id = 1});
    for (std::uint64_t number = 0; number < 3; ++number)
      ASSERT_TRUE(ranks.post(0, 1, remote, payload(size, number)).has_value());
    ranks.leave(0);
    for (std::uint64_t number = 0; number < 3; ++number) {
      ASSERT_TRUE(ranks.progress_until([&] { return inbox.ready(); })) << size;
      Message message;
      ASSERT_TRUE(inbox.pop(message));
      EXPECT_TRUE(matches(message.bytes(), number)) << size;
    }
  }
}

TEST(Ending, ends_receives_that_only_the_rank_could_have_matched) {
  Ranks<Endpoint> ranks(3, kShort);
  ASSERT_TRUE(ranks.meet());
  std::vector<std::byte> buffer(8);
  test::Recorder from_it;
  test::Recorder from_another;
  ASSERT_TRUE(ranks.endpoint(1).post_receive(0, 5, buffer, {.completion = &from_it}).is_accepted());
  ASSERT_TRUE(ranks.endpoint(1).post_receive(2, 5, buffer, {.completion = &from_another}).is_accepted());
  ranks.leave(0);
  ASSERT_TRUE(ranks.progress_until([&] { return from_it.ready(); }));
  EXPECT_EQ(from_it.messages[0].outcome(), Outcome::peer_failed);
  // And later ones at once.
  EXPECT_EQ(ranks.endpoint(1).receive(0, 6, buffer).outcome(), Outcome::peer_failed);
  EXPECT_FALSE(from_another.ready());
  EXPECT_EQ(ranks.runtime(1).failed_peers(), 0U);
  ASSERT_TRUE(ranks.endpoint(2).post_send(1, 5, payload(8, 1)).is_accepted() || ranks.progress_until([&] {
    return ranks.endpoint(2).post_send(1, 5, payload(8, 1)).is_accepted();
  }));
  ASSERT_TRUE(ranks.progress_until([&] { return from_another.ready(); }));
  EXPECT_EQ(from_another.messages[0].outcome(), Outcome::ok);
}

TEST(Ending, ends_receives_of_any_source_when_nobody_else_is_left) {
  Ranks<Endpoint> ranks(3, kShort);
  const MatchingEngine engine(ranks.runtime(1), {.id = 256, .order = MatchOrder::ordered});
  std::vector<std::byte> buffer(8);
  test::Recorder received;
  ASSERT_TRUE(ranks.endpoint(1)
                  .post_receive(any_source, any_tag, buffer, {.completion = &received, .engine = 256})
                  .is_accepted());
  ranks.leave(0);
  for (int round = 0; round < 2'000; ++round) ranks.progress();
  EXPECT_FALSE(received.ready());
  ranks.leave(2);
  ASSERT_TRUE(ranks.progress_until([&] { return received.ready(); }));
  EXPECT_EQ(received.messages[0].outcome(), Outcome::peer_failed);
}

TEST(Ending, is_told_to_senders_of_active_messages) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{300}, std::size_t{6'000}}) {
    Counter arrived;  // is never withdrawn: the rank leaves with an open handle
    Ranks<Endpoint> ranks(2, kShort);
    const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
    const auto bytes = payload(size, 1);
    ASSERT_TRUE(ranks.post(0, 1, remote, bytes).has_value());
    ASSERT_TRUE(ranks.progress_until([&] { return arrived.value() == 1; }));
    ranks.leave(1);
    const auto is_told = [&] { return ranks.endpoint(0).send_am(1, remote, bytes) == Outcome::peer_failed; };
    // By sockets it becomes known some time later.
    EXPECT_TRUE(test::is_message_network(ranks.runtime(0)) ? ranks.progress_until(is_told) : is_told())
        << size;
    // A post that tells its end to nobody is counted.
    const std::uint64_t dropped = ranks.runtime(0).counters().dropped_sends;
    ASSERT_TRUE(ranks.post(0, 1, remote, bytes).has_value());
    EXPECT_EQ(ranks.runtime(0).counters().dropped_sends, dropped + 1) << size;
  }
}

TEST(Ending, of_two_ranks_at_a_time_is_not_kept_by_what_neither_receives) {
  Ranks<Endpoint> ranks(2, {{"drain_timeout", "0.05"}, {"log", "error"}});
  ASSERT_TRUE(ranks.meet());
  const auto bytes = payload(200'000, 1);
  for (int rank = 0; rank < 2; ++rank) {
    Status sent = Status::retry(Reason::none);
    ASSERT_TRUE(ranks.progress_until([&] {
      if (sent.is_retry()) sent = ranks.endpoint(rank).post_send(1 - rank, 5, bytes);
      return sent.is_accepted();
    }));
  }
  std::thread other([&] { ranks.leave(1); });
  ranks.leave(0);
  other.join();
}

TEST(LargeMessagesWithoutCompletion, are_copied_by_the_post) {
  Ranks<Endpoint> ranks(2);
  ASSERT_TRUE(ranks.meet());
  auto bytes = payload(200'000, 1);
  Status sent = Status::retry(Reason::none);
  ASSERT_TRUE(ranks.progress_until([&] {
    if (sent.is_retry()) sent = ranks.endpoint(0).post_send(1, 5, bytes);
    return sent.is_accepted();
  }));
  bytes.assign(bytes.size(), std::byte{0});
  std::vector<std::byte> buffer(bytes.size());
  test::Recorder received;
  ASSERT_TRUE(ranks.progress_until(
      [&] { return ranks.endpoint(1).post_receive(0, 5, buffer, {.completion = &received}).is_accepted(); }));
  ASSERT_TRUE(ranks.progress_until([&] { return received.ready(); }));
  EXPECT_TRUE(matches(buffer, 1));
}

}  // namespace
}  // namespace weft
