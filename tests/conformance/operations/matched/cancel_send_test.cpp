// Cancelling sends: what ends as cancelled is never received, and all else ends as it would have.
#include "support/deadlines.hpp"
#include "support/errors.hpp"
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>

namespace weft {
namespace {

using test::expect_names;
using test::kFar;
using test::matches;
using test::payload;
using test::Ranks;
using test::Recorder;

constexpr std::uint16_t kOrderedCancels = 256;
constexpr std::uint16_t kEngines[] = {0, kOrderedCancels};

template <class EndpointType>
class CancelledSends : public testing::Test {
 protected:
  [[nodiscard]] bool ends(const Recorder& recorder, std::size_t messages = 1) {
    return ranks_.progress_until([&] { return recorder.messages.size() >= messages; });
  }
  Ranks<EndpointType> ranks_{2};
};
using Endpoints = testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(CancelledSends, Endpoints);

TYPED_TEST(CancelledSends, that_nobody_has_matched_are_never_received) {
  auto& ranks = this->ranks_;
  ASSERT_TRUE(ranks.meet());
  for (const std::uint16_t engine : kEngines)
    for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{100'000}})
      for (const bool is_seen : {false, true}) {
        Recorder sent;
        int mark = 0;
        SendHandle handle;
        const auto bytes = payload(size, 1);
        ASSERT_TRUE(test::post_send(ranks, 0, 1, 8, bytes,
                                    {.completion = &sent,
                                     .user_data = &mark,
                                     .engine = engine,
                                     .synchronous = size < 100'000,
                                     .handle = &handle})
                        .has_value());
        EXPECT_NE(handle.generation, 0U);
        ProbedMessage found;
        if (is_seen) {
          ASSERT_TRUE(
              ranks.progress_until([&] { return ranks.endpoint(1).probe(0, 8, found, {.engine = engine}); }));
        }
        EXPECT_TRUE(ranks.endpoint(0).cancel(handle));
        EXPECT_TRUE(ranks.endpoint(0).cancel(handle)) << "it may be asked for again";
        ASSERT_TRUE(this->ends(sent));
        EXPECT_EQ(sent.messages[0].outcome(), Outcome::cancelled);
        EXPECT_EQ(sent.messages[0].operation(), Operation::send);
        EXPECT_EQ(sent.messages[0].user_data(), &mark);
        EXPECT_FALSE(ranks.endpoint(0).cancel(handle)) << "it has ended";
        EXPECT_FALSE(ranks.endpoint(1).probe(0, 8, found, {.engine = engine}));
        // The next one is received, in its turn.
        std::uint64_t got = 0;
        Recorder received;
        ASSERT_TRUE(
            ranks.endpoint(1)
                .post_receive(0, 8, mutable_bytes_of(got), {.completion = &received, .engine = engine})
                .is_posted());
        const std::uint64_t value = 5;
        ASSERT_TRUE(test::post_send(ranks, 0, 1, 8, bytes_of(value), {.engine = engine}).has_value());
        ASSERT_TRUE(this->ends(received));
        EXPECT_EQ(got, value);
        EXPECT_EQ(sent.messages.size(), 1U);
      }
}

TYPED_TEST(CancelledSends, that_have_left_already_say_no) {
  auto& ranks = this->ranks_;
  ASSERT_TRUE(ranks.meet());
  for (const std::uint16_t engine : kEngines) {
    Recorder sent;
    SendHandle handle{0, 1, 0};
    const std::uint64_t value = 9;
    ASSERT_TRUE(test::post_send(ranks, 0, 1, 8, bytes_of(value),
                                {.completion = &sent, .engine = engine, .handle = &handle})
                    .has_value());
    ASSERT_TRUE(this->ends(sent));
    EXPECT_EQ(sent.messages[0].outcome(), Outcome::ok);
    EXPECT_FALSE(ranks.endpoint(0).cancel(handle));
    std::uint64_t got = 0;
    Recorder received;
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(0, 8, mutable_bytes_of(got), {.completion = &received, .engine = engine})
                    .is_posted());
    ASSERT_TRUE(this->ends(received));
    EXPECT_EQ(got, value);
  }
  EXPECT_FALSE(ranks.endpoint(0).cancel(SendHandle()));
  EXPECT_FALSE(ranks.endpoint(0).cancel(SendHandle{~0U, ~0U, ~0U}));
}

TYPED_TEST(CancelledSends, end_as_they_would_have_when_a_receive_came_first) {
  auto& ranks = this->ranks_;
  for (const std::uint16_t engine : kEngines) {
    Recorder sent;
    Recorder received;
    SendHandle handle;
    const auto bytes = payload(100'000, 3);
    std::vector<std::byte> buffer(100'000);
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(0, 8, buffer, {.completion = &received, .engine = engine})
                    .is_posted());
    ASSERT_TRUE(
        test::post_send(ranks, 0, 1, 8, bytes, {.completion = &sent, .engine = engine, .handle = &handle})
            .has_value());
    static_cast<void>(ranks.endpoint(0).cancel(handle));
    ASSERT_TRUE(this->ends(sent));
    ASSERT_TRUE(this->ends(received));
    EXPECT_EQ(sent.messages[0].outcome(), Outcome::ok);
    EXPECT_EQ(received.messages[0].outcome(), Outcome::ok);
    EXPECT_TRUE(matches(buffer, 3));
  }
}

TYPED_TEST(CancelledSends, are_either_received_or_cancelled_whatever_comes_first) {
  auto& ranks = this->ranks_;
  ASSERT_TRUE(ranks.meet());
  std::mt19937 random(11);
  std::array<int, 2> outcomes{};
  for (int round = 0; round < 300; ++round) {
    const std::uint16_t engine = kEngines[random() % 2];
    const std::size_t size = random() % 2 == 0 ? 8 : 40'000;
    const auto tag = static_cast<std::uint64_t>(round);
    const auto bytes = payload(size, tag);
    std::vector<std::byte> buffer(size);
    Recorder sent;
    Recorder received;
    SendHandle handle;
    ReceiveHandle receive;
    const auto post_receive = [&] {
      ASSERT_TRUE(
          ranks.endpoint(1)
              .post_receive(0, tag, buffer, {.completion = &received, .engine = engine, .handle = &receive})
              .is_posted());
    };
    const auto pause = [&] {
      for (auto polls = random() % 12; polls != 0; --polls)
        ranks.endpoint(random() % 2 == 0 ? 0 : 1).progress();
    };
    const bool is_early = random() % 2 == 0;
    if (is_early) post_receive();
    ASSERT_TRUE(
        test::post_send(ranks, 0, 1, tag, bytes,
                        {.completion = &sent, .engine = engine, .synchronous = true, .handle = &handle})
            .has_value());
    pause();
    const bool is_asked = ranks.endpoint(0).cancel(handle);
    pause();
    if (!is_early) post_receive();
    ASSERT_TRUE(this->ends(sent));
    const Outcome outcome = sent.messages[0].outcome();
    ASSERT_TRUE(outcome == Outcome::ok || (is_asked && outcome == Outcome::cancelled)) << name_of(outcome);
    ++outcomes[outcome == Outcome::ok ? 0 : 1];
    if (outcome == Outcome::ok) {
      ASSERT_TRUE(this->ends(received));
      EXPECT_EQ(received.messages[0].outcome(), Outcome::ok);
      EXPECT_TRUE(matches(buffer, tag));
    } else {
      EXPECT_TRUE(received.messages.empty());
      EXPECT_TRUE(ranks.endpoint(1).cancel(receive)) << "it waits for a message that never comes";
    }
    EXPECT_EQ(sent.messages.size(), 1U);
  }
  EXPECT_GT(outcomes[0], 0);
  EXPECT_GT(outcomes[1], 0);
}

/// Sends that wait for room leave the backlog.
TYPED_TEST(CancelledSends, that_wait_in_the_backlog_never_leave) {
  auto& ranks = this->ranks_;
  ASSERT_TRUE(ranks.meet());
  for (const std::uint16_t engine : kEngines) {
    constexpr std::uint64_t kCount = 400;
    struct Sent {
      Recorder ended;
      SendHandle handle;
      std::uint64_t number = 0;
    };
    std::vector<Sent> all(kCount);
    std::uint64_t accepted = 0;
    for (; accepted < kCount; ++accepted) {
      Sent& each = all[accepted];
      each.number = accepted;
      const Status status = ranks.endpoint(0).post_send(
          1, 8, bytes_of(each.number),
          {.completion = &each.ended, .engine = engine, .may_retry = false, .handle = &each.handle});
      if (status.is_retry()) break;
    }
    for (std::uint64_t number = 0; number < accepted; ++number) {
      const bool has_ended = !all[number].ended.messages.empty();
      EXPECT_EQ(ranks.endpoint(0).cancel(all[number].handle), !has_ended) << number;
    }
    std::uint64_t sent = 0;
    std::uint64_t cancelled = 0;
    std::vector<std::uint64_t> expected;
    for (std::uint64_t number = 0; number < accepted; ++number) {
      ASSERT_TRUE(this->ends(all[number].ended)) << number;
      const Outcome outcome = all[number].ended.messages[0].outcome();
      ASSERT_TRUE(outcome == Outcome::ok || outcome == Outcome::cancelled) << name_of(outcome);
      ++(outcome == Outcome::ok ? sent : cancelled);
      if (outcome == Outcome::ok) expected.push_back(number);
    }
    EXPECT_GT(sent, 0U);
    EXPECT_GT(cancelled, 0U) << "of " << accepted;
    std::vector<std::uint64_t> got;
    for (std::uint64_t number = 0; number < sent; ++number) {
      std::uint64_t value = 0;
      Recorder received;
      ASSERT_TRUE(
          ranks.endpoint(1)
              .post_receive(0, 8, mutable_bytes_of(value), {.completion = &received, .engine = engine})
              .is_posted());
      ASSERT_TRUE(this->ends(received));
      got.push_back(value);
    }
    if (engine < kMatchingEngines) std::sort(got.begin(), got.end());
    EXPECT_EQ(got, expected);
    ProbedMessage found;
    ranks.progress();
    EXPECT_FALSE(ranks.endpoint(1).probe(0, 8, found, {.engine = engine}));
  }
}

TYPED_TEST(CancelledSends, keep_a_timeout_that_they_have) {
  auto& ranks = this->ranks_;
  ASSERT_TRUE(ranks.meet());
  Recorder sent;
  SendHandle handle;
  const auto bytes = payload(8, 1);
  ASSERT_TRUE(test::post_send(ranks, 0, 1, 8, bytes,
                              {.completion = &sent, .timeout = kFar, .synchronous = true, .handle = &handle})
                  .has_value());
  EXPECT_TRUE(ranks.endpoint(0).cancel(handle));
  ASSERT_TRUE(this->ends(sent));
  EXPECT_EQ(sent.messages[0].outcome(), Outcome::cancelled);
  // The end by the timeout alone is no cancellation.
  Recorder late;
  ASSERT_TRUE(
      test::post_send(ranks, 0, 1, 8, bytes,
                      {.completion = &late, .timeout = test::kSoon, .synchronous = true, .handle = &handle})
          .has_value());
  ASSERT_TRUE(this->ends(late));
  EXPECT_EQ(late.messages[0].outcome(), Outcome::timed_out);
  EXPECT_FALSE(ranks.endpoint(0).cancel(handle));
}

TYPED_TEST(CancelledSends, need_somebody_who_learns_of_the_end) {
  auto& ranks = this->ranks_;
  SendHandle handle;
  const auto bytes = payload(100'000, 1);
  for (const std::uint16_t engine : kEngines)
    expect_names(
        test::error_of([&] {
          static_cast<void>(ranks.endpoint(0).post_send(1, 1, bytes, {.engine = engine, .handle = &handle}));
        }),
        {"post_send", "handle", "completion object"});
}

/// A thread that sleeps in a wait is woken, whoever cancels.
TEST(CancelledSend, ends_a_wait_for_it) {
  Ranks<Endpoint> ranks(2);
  ASSERT_TRUE(ranks.meet());
  std::atomic<bool> ends{false};
  std::thread receiver([&] {
    while (!ends.load()) ranks.endpoint(1).progress();
  });
  for (int round = 0; round < 20; ++round) {
    Synchronizer sent(1);
    SendHandle handle;
    const auto bytes = payload(8, 1);
    while (!ranks.endpoint(0)
                .post_send(1, 8, bytes, {.completion = &sent, .synchronous = true, .handle = &handle})
                .is_posted())
      ranks.endpoint(0).progress();
    std::thread other([&] { EXPECT_TRUE(ranks.endpoint(0).cancel(handle)); });
    EXPECT_EQ(ranks.endpoint(0).wait(sent)[0].outcome(), Outcome::cancelled);
    other.join();
  }
  ends.store(true);
  receiver.join();
}

TEST(CancelledSendsOfMany, leave_deadlines_to_operations_that_have_one) {
  Ranks<> ranks(2, {{"deadlines", "4"}});
  ASSERT_TRUE(ranks.meet());
  Recorder sent;
  const std::uint64_t value = 5;
  std::array<SendHandle, 8> handles;
  for (SendHandle& handle : handles)
    ASSERT_TRUE(test::post_send(ranks, 0, 1, 8, bytes_of(value),
                                {.completion = &sent, .synchronous = true, .handle = &handle})
                    .has_value());
  const auto named = std::ranges::count_if(handles, [](const auto& each) { return each.generation != 0; });
  EXPECT_EQ(named, 2);
  Recorder timed;
  std::uint64_t unused = 0;
  const ReceiveOptions soon{.completion = &timed, .timeout = std::chrono::milliseconds(1)};
  ASSERT_TRUE(ranks.endpoint(0).post_receive(1, 9, mutable_bytes_of(unused), soon).is_posted());
  Recorder received;
  std::array<std::uint64_t, 8> got{};
  for (std::uint64_t& each : got)
    ASSERT_TRUE(
        ranks.endpoint(1).post_receive(0, 8, mutable_bytes_of(each), {.completion = &received}).is_posted());
  EXPECT_TRUE(ranks.progress_until([&] {
    return sent.messages.size() == handles.size() && received.messages.size() == got.size() &&
           timed.messages.size() == 1;
  }));
  EXPECT_EQ(timed.messages[0].outcome(), Outcome::timed_out);
}

}  // namespace
}  // namespace weft
