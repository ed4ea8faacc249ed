// Operations with a timeout that end before, or because, it has passed: receives, what waits in the backlog,
// and the calls that wait.
#include "support/deadlines.hpp"
#include "support/matched.hpp"
#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::kFar;
using test::kPassed;
using test::kSoon;
using test::matches;
using test::payload;
using test::Ranks;
using test::Recorder;

template <class EndpointType>
class Deadlines : public testing::Test {
 protected:
  [[nodiscard]] bool ends(const Recorder& recorder, std::size_t messages = 1) {
    return ranks_.progress_until([&] { return recorder.messages.size() >= messages; });
  }
  Ranks<EndpointType> ranks_{2};
};
using Endpoints = testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(Deadlines, Endpoints);

TYPED_TEST(Deadlines, receives_without_a_message_end_once) {
  auto& ranks = this->ranks_;
  constexpr std::uint64_t kTag = 5;
  MatchingEngine ordered(ranks.runtime(1), {.id = 256, .order = MatchOrder::ordered});
  struct Case {
    int source;
    MatchingPolicy policy;
    std::uint16_t engine;
  };
  for (const Case& each :
       {Case{0, MatchingPolicy::rank_and_tag, 0}, Case{0, MatchingPolicy::rank_only, 0},
        Case{-1, MatchingPolicy::tag_only, 0}, Case{-1, MatchingPolicy::any, 0},
        Case{0, MatchingPolicy::rank_and_tag, 256}, Case{any_source, MatchingPolicy::rank_and_tag, 256}})
    for (const auto timeout : {std::chrono::nanoseconds(kSoon), std::chrono::nanoseconds(kPassed)}) {
      Recorder ended;
      int mark = 0;
      std::vector<std::byte> buffer = payload(64, 1);
      ReceiveHandle handle;
      const Status status = ranks.endpoint(1).post_receive(each.source, kTag, buffer,
                                                           {.completion = &ended,
                                                            .user_data = &mark,
                                                            .policy = each.policy,
                                                            .engine = each.engine,
                                                            .may_retry = false,
                                                            .handle = &handle,
                                                            .timeout = timeout});
      ASSERT_TRUE(status.is_posted());
      ASSERT_TRUE(this->ends(ended));
      EXPECT_EQ(ended.messages[0].outcome(), Outcome::timed_out);
      EXPECT_EQ(ended.messages[0].operation(), Operation::receive);
      EXPECT_EQ(ended.messages[0].user_data(), &mark);
      EXPECT_FALSE(ranks.endpoint(1).cancel(handle));
      // It is not there any more: the next message is for the next receive.
      Recorder next;
      ASSERT_TRUE(
          ranks.endpoint(1)
              .post_receive(
                  each.source, kTag, std::span(buffer).first(8),
                  {.completion = &next, .policy = each.policy, .engine = each.engine, .may_retry = false})
              .is_posted());
      const std::uint64_t value = 77;
      ASSERT_TRUE(
          test::post_send(ranks, 0, 1, kTag, bytes_of(value), {.policy = each.policy, .engine = each.engine})
              .has_value());
      ASSERT_TRUE(this->ends(next));
      EXPECT_EQ(next.messages[0].template as<std::uint64_t>(), value);
      EXPECT_EQ(ended.messages.size(), 1U);
    }
}

TYPED_TEST(Deadlines, receives_into_lists_end_once) {
  auto& ranks = this->ranks_;
  MatchingEngine ordered(ranks.runtime(1), {.id = 256, .order = MatchOrder::ordered});
  std::vector<std::byte> buffer(24);
  const std::array<MutableBytes, 2> buffers = {std::span(buffer).first(16), std::span(buffer).subspan(16)};
  for (const std::uint16_t engine : {std::uint16_t{0}, std::uint16_t{256}})
    for (int round = 0; round < 3; ++round) {
      Recorder ended;
      int mark = 0;
      ASSERT_TRUE(ranks.endpoint(1)
                      .post_receive(0, 5, buffers,
                                    {.completion = &ended,
                                     .user_data = &mark,
                                     .engine = engine,
                                     .may_retry = false,
                                     .timeout = kSoon})
                      .is_posted());
      ASSERT_TRUE(this->ends(ended));
      EXPECT_EQ(ended.messages[0].outcome(), Outcome::timed_out);
      EXPECT_EQ(ended.messages[0].user_data(), &mark);
      EXPECT_EQ(ended.messages[0].size(), 0U);
      EXPECT_EQ(ranks.endpoint(1).receive(0, 5, buffers, {.engine = engine, .timeout = kSoon}).outcome(),
                Outcome::timed_out);
      // With time enough, from a list that has as much.
      Recorder received;
      ASSERT_TRUE(
          ranks.endpoint(1)
              .post_receive(0, 5, buffers,
                            {.completion = &received, .engine = engine, .may_retry = false, .timeout = kFar})
              .is_posted());
      const auto bytes = payload(24, static_cast<std::uint64_t>(round));
      const std::array<Bytes, 2> parts = {Bytes(bytes).first(5), Bytes(bytes).subspan(5)};
      Recorder sent;
      ASSERT_TRUE(ranks.progress_until([&] {
        return ranks.endpoint(0)
            .post_send(1, 5, parts, {.completion = &sent, .engine = engine, .timeout = kFar})
            .is_posted();
      }));
      ASSERT_TRUE(this->ends(received) && this->ends(sent));
      EXPECT_EQ(received.messages[0].outcome(), Outcome::ok);
      EXPECT_TRUE(matches(buffer, static_cast<std::uint64_t>(round)));
    }
}

TYPED_TEST(Deadlines, receives_that_meet_their_message_before_end_as_without) {
  auto& ranks = this->ranks_;
  for (const std::size_t size : {std::size_t{8}, std::size_t{3000}, std::size_t{100'000}})
    for (const bool is_late : {false, true}) {
      Recorder ended;
      Counter sent;
      const auto bytes = payload(size, size);
      std::vector<std::byte> buffer(size);
      const auto receive = [&] {
        const Status status = ranks.endpoint(1).post_receive(
            0, 9, buffer, {.completion = &ended, .may_retry = false, .timeout = kFar});
        ASSERT_TRUE(status.is_posted());
      };
      if (!is_late) receive();
      ASSERT_TRUE(test::post_send(ranks, 0, 1, 9, bytes, {.completion = &sent, .timeout = kFar}).has_value());
      if (is_late) {
        ProbedMessage found;
        ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(1).probe(0, 9, found); }));
        receive();
      }
      ASSERT_TRUE(this->ends(ended));
      ASSERT_TRUE(ranks.progress_until([&] { return sent.value() == 1; }));
      EXPECT_EQ(ended.messages[0].outcome(), Outcome::ok);
      EXPECT_TRUE(matches(buffer, size));
    }
}

TYPED_TEST(Deadlines, receives_are_done_at_once_when_their_message_is_there) {
  auto& ranks = this->ranks_;
  const std::uint64_t value = 3;
  ASSERT_TRUE(test::post_send(ranks, 0, 1, 1, bytes_of(value)).has_value());
  ProbedMessage found;
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(1).probe(0, 1, found); }));
  Recorder never;
  Message arrived;
  std::array<std::byte, 8> buffer{};
  EXPECT_TRUE(
      ranks.endpoint(1)
          .post_receive(
              0, 1, buffer,
              {.completion = &never, .may_complete_now = true, .arrived = &arrived, .timeout = kPassed})
          .is_done());
  EXPECT_EQ(arrived.as<std::uint64_t>(), value);
  EXPECT_TRUE(never.messages.empty());
}

TYPED_TEST(Deadlines, of_many_receives_those_that_are_due_end) {
  auto& ranks = this->ranks_;
  constexpr std::size_t kCount = 300;
  Recorder soon;
  Recorder late;
  std::array<std::byte, 8> buffer{};
  std::vector<ReceiveHandle> handles(kCount);
  for (std::size_t index = 0; index < kCount; ++index) {
    const bool is_soon = index * 7 % 3 != 0;
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(0, index, buffer,
                                  {.completion = is_soon ? &soon : &late,
                                   .may_retry = false,
                                   .handle = &handles[index],
                                   .timeout = is_soon ? std::chrono::nanoseconds(1000 * (index * 37 % 1000))
                                                      : std::chrono::nanoseconds(kFar)})
                    .is_posted());
  }
  ASSERT_TRUE(this->ends(soon, kCount * 2 / 3));
  EXPECT_EQ(late.messages.size(), 0U);
  for (const ReceiveHandle& handle : handles) static_cast<void>(ranks.endpoint(1).cancel(handle));
  EXPECT_EQ(soon.messages.size(), kCount * 2 / 3);
  EXPECT_EQ(late.messages.size(), kCount / 3);
  for (const Message& message : late.messages) EXPECT_EQ(message.outcome(), Outcome::cancelled);
}

TYPED_TEST(Deadlines, active_messages_in_the_backlog_end_and_never_arrive) {
  auto& ranks = this->ranks_;
  Counter nobody;
  ASSERT_TRUE(ranks.meet());
  // Exposed here, but not by the peer.
  const RemoteCompletion unknown = ranks.runtime(0).expose(nobody, {.id = 10});
  for (const std::size_t size : {std::size_t{8}, std::size_t{3000}, std::size_t{100'000}}) {
    Recorder ended;
    int mark = 0;
    const auto bytes = payload(size, 1);
    const Status status = ranks.endpoint(0).post_am(
        1, unknown, bytes,
        {.completion = &ended, .user_data = &mark, .tag = 4, .may_retry = false, .timeout = kSoon});
    ASSERT_TRUE(status.is_posted());
    ASSERT_TRUE(this->ends(ended));
    EXPECT_EQ(ended.messages[0].outcome(), Outcome::timed_out) << size;
    EXPECT_EQ(ended.messages[0].operation(), Operation::active_message_sent);
    EXPECT_EQ(ended.messages[0].user_data(), &mark);
    EXPECT_EQ(ended.messages[0].tag(), 4U);
  }
}

TYPED_TEST(Deadlines, sends_to_a_rank_that_does_not_progress_end_or_arrive) {
  auto& ranks = this->ranks_;
  ASSERT_TRUE(ranks.meet());
  constexpr std::uint64_t kCount = 1200;
  Recorder ended;
  std::vector<std::uint64_t> values(kCount);
  std::uint64_t accepted = 0;
  for (std::uint64_t index = 0; index < kCount; ++index) {
    values[index] = index;
    const Status status = ranks.endpoint(0).post_send(
        1, 3, bytes_of(values[index]),
        {.completion = &ended, .user_data = &values[index], .may_retry = false, .timeout = kSoon});
    if (status.is_retry()) break;
    ++accepted;
  }
  ASSERT_GT(accepted, 0U);
  // What has not left by then never will.
  const auto end = std::chrono::steady_clock::now() + kSoon;
  while (std::chrono::steady_clock::now() <= end) ranks.endpoint(0).progress();
  ASSERT_TRUE(ranks.progress_until([&] { return ended.messages.size() >= accepted; }));
  std::vector<std::uint64_t> sent;
  for (const Message& message : ended.messages)
    if (message.outcome() == Outcome::ok) sent.push_back(*static_cast<std::uint64_t*>(message.user_data()));
  std::vector<std::uint64_t> received;
  ASSERT_TRUE(ranks.progress_until([&] {
    MatchedMessage message = ranks.endpoint(1).matched_probe(0, 3);
    if (message) {
      Recorder got;
      std::array<std::byte, 8> buffer{};
      if (ranks.endpoint(1).post_receive(std::move(message), buffer, {.completion = &got}).is_posted())
        if (this->ends(got)) received.push_back(got.messages[0].template as<std::uint64_t>());
    }
    return received.size() >= sent.size();
  }));
  for (int quiet = 0; quiet < 1000; ++quiet) ranks.progress();
  EXPECT_FALSE(ranks.endpoint(1).matched_probe(0, 3)) << "one that has timed out";
  std::sort(sent.begin(), sent.end());
  std::sort(received.begin(), received.end());
  EXPECT_EQ(sent, received);
  EXPECT_EQ(ended.messages.size(), accepted);
}

TYPED_TEST(Deadlines, ordered_sends_go_on_after_one_in_the_backlog_has_ended) {
  auto& ranks = this->ranks_;
  MatchingEngine engine(ranks.runtime(1), {.id = 256, .order = MatchOrder::ordered});
  MatchingEngine own(ranks.runtime(0), {.id = 256, .order = MatchOrder::ordered});
  ASSERT_TRUE(ranks.meet());
  Recorder ended;
  std::uint64_t accepted = 0;
  std::vector<std::uint64_t> values(1000);
  for (std::uint64_t& value : values) {
    value = accepted;
    const Status status = ranks.endpoint(0).post_send(
        1, 3, bytes_of(value),
        {.completion = &ended, .user_data = &value, .engine = 256, .may_retry = false, .timeout = kSoon});
    if (status.is_retry()) break;
    ++accepted;
  }
  const auto end = std::chrono::steady_clock::now() + kSoon;
  while (std::chrono::steady_clock::now() <= end) ranks.endpoint(0).progress();
  ASSERT_TRUE(ranks.progress_until([&] { return ended.messages.size() >= accepted; }));
  // The last one tells that the others have come. It may have to wait for a receive.
  const std::uint64_t last = 1'000'000;
  Recorder last_sent;
  ASSERT_TRUE(test::post_send(ranks, 0, 1, 3, bytes_of(last),
                              {.completion = &last_sent, .engine = 256, .may_retry = false})
                  .has_value());
  std::vector<std::uint64_t> received;
  std::uint64_t value = 0;
  while (value != last) {
    Recorder got;
    std::array<std::byte, 8> buffer{};
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(0, 3, buffer, {.completion = &got, .engine = 256, .may_retry = false})
                    .is_posted());
    ASSERT_TRUE(this->ends(got));
    value = got.messages[0].template as<std::uint64_t>();
    if (value != last) received.push_back(value);
  }
  std::vector<std::uint64_t> sent;
  for (const Message& message : ended.messages)
    if (message.outcome() == Outcome::ok) sent.push_back(*static_cast<std::uint64_t*>(message.user_data()));
  std::sort(sent.begin(), sent.end());
  EXPECT_EQ(received, sent);
  EXPECT_TRUE(this->ends(last_sent));
}

TYPED_TEST(Deadlines, calls_that_wait_return) {
  auto& ranks = this->ranks_;
  std::array<std::byte, 8> buffer{};
  const Message nothing = ranks.endpoint(1).receive(0, 1, buffer, {.timeout = kSoon});
  EXPECT_EQ(nothing.outcome(), Outcome::timed_out);
  EXPECT_EQ(ranks.endpoint(1).receive(0, 1, buffer, {.timeout = kPassed}).outcome(), Outcome::timed_out);
  Counter counter;
  counter.set_target(1);
  EXPECT_FALSE(ranks.endpoint(0).wait_for(counter, kSoon));
  EXPECT_FALSE(ranks.endpoint(0).wait_for(counter, 0ns));
  EXPECT_FALSE(ranks.endpoint(0).wait_for([] { return false; }, kSoon));
  Message message;
  counter.signal(message);
  EXPECT_TRUE(ranks.endpoint(0).wait_for(counter, kSoon));
  EXPECT_TRUE(ranks.endpoint(0).wait_for(counter, kFar));
  // The receive that has ended does not take the message of the next one.
  const std::uint64_t value = 12;
  ASSERT_TRUE(test::post_send(ranks, 0, 1, 1, bytes_of(value)).has_value());
  Message arrived;
  ASSERT_TRUE(ranks.progress_until([&] {
    arrived = ranks.endpoint(1).receive(0, 1, buffer, {.timeout = kSoon});
    return arrived.outcome() == Outcome::ok;
  }));
  EXPECT_EQ(arrived.as<std::uint64_t>(), value);
}

TYPED_TEST(Deadlines, need_a_completion_object_and_a_node) {
  auto& ranks = this->ranks_;
  std::array<std::byte, 8> buffer{};
  EXPECT_THROW(static_cast<void>(ranks.endpoint(0).post_receive(1, 1, buffer, {.timeout = kSoon})), Error);
  try {
    static_cast<void>(ranks.endpoint(0).post_send(1, 1, payload(100'000, 1), {.timeout = kSoon}));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "post_send: a timeout needs a completion object, or nobody would learn that it has passed");
  }
  Counter counter;
  const std::array<Bytes, 1> parts{buffer};
  const RemoteCompletion remote = ranks.runtime(1).expose(counter, {.id = 1});
  EXPECT_THROW(static_cast<void>(ranks.endpoint(0).post_am(1, remote, {}, parts,
                                                           {.completion = &counter, .timeout = kSoon})),
               Error);
}

TYPED_TEST(Deadlines, of_prepared_receives_count_from_each_start) {
  auto& ranks = this->ranks_;
  Recorder ended;
  std::array<std::byte, 8> buffer{};
  auto receive = ranks.endpoint(1).prepare_receive(0, 6, buffer, {.completion = &ended, .timeout = kSoon});
  for (std::size_t round = 1; round <= 10; ++round) {
    ASSERT_TRUE(receive.start().is_posted());
    EXPECT_EQ(receive.start(), Status::retry(Reason::in_flight));
    ASSERT_TRUE(this->ends(ended, round));
    EXPECT_EQ(ended.messages.back().outcome(), Outcome::timed_out);
    EXPECT_FALSE(receive.is_in_flight());
  }
}

TYPED_TEST(Deadlines, fail_the_graph_of_their_node) {
  auto& ranks = this->ranks_;
  auto& endpoint = ranks.endpoint(1);
  std::array<std::byte, 8> buffer{};
  int after = 0;
  Graph graph;
  const auto receive = graph.add([&](Completion& completion) {
    return endpoint.post_receive(0, 6, buffer, {.completion = &completion, .timeout = kSoon});
  });
  const auto last = graph.add_function([&] { ++after; });
  graph.order(receive, last);
  for (int round = 0; round < 3; ++round) {
    graph.start();
    ASSERT_TRUE(ranks.progress_until([&] { return graph.test(); }));
    EXPECT_EQ(graph.outcome(), Outcome::timed_out);
  }
  EXPECT_EQ(after, 0);
}

}  // namespace
}  // namespace weft
