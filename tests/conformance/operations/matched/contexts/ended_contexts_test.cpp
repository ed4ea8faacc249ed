// Matching contexts that end: what they had taken, what waits in the backlog, what comes afterwards.
#include "conformance/operations/matched/contexts/contexts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::Contexts;
using test::post;
using test::Ranks;
using test::Recorder;

template <class EndpointType>
class EndedContexts : public ::testing::Test {};
TYPED_TEST_SUITE(EndedContexts, test::ContextEndpoints);

TYPED_TEST(EndedContexts, cancel_their_receives_and_drop_their_messages) {
  constexpr std::uint32_t kBelow = 0;
  constexpr std::uint32_t kAbove = 16;
  for (const auto& [order, neighbour] : {std::pair(MatchOrder::unordered, kBelow),
                                         {MatchOrder::unordered, kAbove},
                                         {MatchOrder::ordered, kBelow},
                                         {MatchOrder::ordered, kAbove}}) {
    Ranks<TypeParam> ranks(2, {{"unexpected_credits", "8"}});
    Contexts stays(ranks, {.order = order, .key = neighbour});
    auto goes = std::make_unique<Contexts>(ranks, MatchingContextOptions{.order = order, .key = 8});
    std::uint64_t buffers[4] = {};
    Recorder cancelled[2];
    Recorder received;
    for (int index = 0; index < 2; ++index)
      ASSERT_TRUE(ranks.endpoint(0)
                      .post_receive(1, (*goes)[0].tag(static_cast<std::uint32_t>(index)),
                                    mutable_bytes_of(buffers[index]), {.completion = &cancelled[index]})
                      .is_posted());
    ASSERT_TRUE(ranks.endpoint(0)
                    .post_receive(1, stays[0].tag(0), mutable_bytes_of(buffers[2]), {.completion = &received})
                    .is_posted());
    std::uint64_t value = 42;
    const auto large = test::payload(300'000, 1);
    Counter dropped;
    ASSERT_TRUE(post(ranks, 1, 0, (*goes)[1].tag(7), bytes_of(value)));
    ASSERT_TRUE(post(ranks, 1, 0, stays[1].tag(7), bytes_of(value)));
    ASSERT_TRUE(post(ranks, 1, 0, (*goes)[1].tag(8), large, {.completion = &dropped}));
    ProbedMessage found;
    ASSERT_TRUE(ranks.progress_until([&] {
      return ranks.endpoint(0).probe(1, (*goes)[0].tag(7), found) &&
             ranks.endpoint(0).probe(1, stays[0].tag(7), found) &&
             ranks.endpoint(0).probe(1, (*goes)[0].tag(8), found);
    }));
    goes->leave(0);
    for (const Recorder& one : cancelled) {
      ASSERT_TRUE(one.ready());
      EXPECT_EQ(one.messages[0].outcome(), Outcome::cancelled);
    }
    EXPECT_FALSE(received.ready());
    EXPECT_TRUE(ranks.endpoint(0).probe(1, stays[0].tag(7), found)) << "of another context";
    ASSERT_TRUE(ranks.progress_until([&] { return dropped.value() == 1; })) << "the large message is over";
    // The key serves another context, which the old messages do not reach; and their credits have come back.
    goes->leave(1);
    Contexts again(ranks, {.order = order, .key = 8});
    EXPECT_FALSE(ranks.endpoint(0).probe(1, again[0].tag(7), found));
    for (int count = 0; count < 20; ++count) {
      Recorder next;
      ASSERT_TRUE(post(ranks, 1, 0, again[1].tag(7), bytes_of(value)));
      ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(0).probe(1, again[0].tag(7), found); }));
      EXPECT_EQ(ranks.endpoint(0)
                    .receive(1, again[0].tag(7), mutable_bytes_of(buffers[3]))
                    .template as<std::uint64_t>(),
                42U);
    }
    ASSERT_TRUE(post(ranks, 1, 0, stays[1].tag(0), bytes_of(value)));
    ASSERT_TRUE(ranks.progress_until([&] { return received.ready(); }));
    EXPECT_EQ(ranks.endpoint(0).receive(1, stays[0].tag(7), mutable_bytes_of(buffers[3])).size(), 8U);
  }
}

TYPED_TEST(EndedContexts, leave_no_message_to_those_that_are_agreed_afterwards) {
  Ranks<TypeParam> ranks(2);
  std::uint64_t value = 1;
  std::uint64_t buffer = 0;
  std::set<std::uint32_t> numbers;
  Recorder received;
  for (int round = 0; round < 50; ++round) {
    Contexts context(ranks, 0, {});
    numbers.insert(context[0].number());
    ASSERT_TRUE(ranks.endpoint(0)
                    .post_receive(1, context[0].tag(1), mutable_bytes_of(buffer), {.completion = &received})
                    .is_posted());
    for (int count = 0; count < 5; ++count) ranks.progress();
    EXPECT_TRUE(received.messages.empty()) << "it got a message of an older context";
    // Comes when the receiver's context is gone, where the network accepts it at once.
    ASSERT_TRUE(post(ranks, 1, 0, context[1].tag(1), bytes_of(value)));
    context.leave(0);
    for (Message& message : received.messages) static_cast<void>(message.outcome());
    received.messages.clear();
  }
  EXPECT_EQ(numbers.size(), 50U);
}

TYPED_TEST(EndedContexts, that_were_agreed_take_late_messages_without_their_credits) {
  for (const MatchOrder order : {MatchOrder::unordered, MatchOrder::ordered}) {
    Ranks<TypeParam> ranks(2, {{"unexpected_credits", "8"}});
    Contexts stays(ranks, 0, {.order = order});
    Contexts goes(ranks, 0, {.order = order});
    Contexts parts(ranks, 1, {.order = order, .count = 5});
    goes.leave(0);
    parts.leave(0);
    constexpr std::uint64_t kLate = 100;
    const std::uint64_t value = 7;
    const auto beside = test::payload(1000, 1);
    const auto large = test::payload(300'000, 1);
    const std::uint64_t before = ranks.runtime(0).counters().refused_messages;
    for (std::uint32_t late = 0; late < kLate; ++late)
      ASSERT_TRUE(post(ranks, 1, 0, late % 2 == 0 ? goes[1].tag(late) : parts[1].tag(late, late % 5),
                       late % 3 == 0 ? Bytes(beside) : bytes_of(value)));
    Counter dropped;
    ASSERT_TRUE(post(ranks, 1, 0, goes[1].tag(1), large, {.completion = &dropped}));
    ASSERT_TRUE(post(ranks, 1, 0, parts[1].tag(1, 4), large, {.completion = &dropped}));
    ASSERT_TRUE(ranks.progress_until([&] {
      return dropped.value() == 2 && ranks.runtime(0).counters().refused_messages == before + kLate + 2;
    })) << ranks.runtime(0).counters().refused_messages - before;
    EXPECT_EQ(ranks.runtime(0).counters().unexpected_now, 0U);
    // Those of other contexts wait for their receives.
    ASSERT_TRUE(post(ranks, 1, 0, stays[1].tag(3), bytes_of(value)));
    std::uint64_t buffer = 0;
    EXPECT_EQ(ranks.endpoint(0).receive(1, stays[0].tag(3), mutable_bytes_of(buffer)).size(), sizeof value);
    EXPECT_EQ(buffer, value);
  }
}

/// A context with receives that were refused for want of records, and wait in the backlog.
template <class EndpointType>
class RefusedReceives {
 public:
  static constexpr std::size_t kRecords = 64;  // the fewest that there may be
  RefusedReceives() : ranks(2, {{"matching_records", "64"}}) {}
  template <class Tag>
  void post(const Tag& tag, const ReceiveOptions& options) {
    ASSERT_TRUE(ranks.endpoint(0).post_receive(1, tag, mutable_bytes_of(buffer), options).is_posted());
    ++posted;
  }
  /// Posts receives until one waits in the backlog.
  template <class Tag>
  void fill(const Tag& tag, Completion& completion) {
    while (ranks.runtime(0).counters().backlog_now == 0 && !::testing::Test::HasFatalFailure()) {
      ASSERT_LE(posted, 10 * kRecords);
      post(tag, {.completion = &completion, .may_retry = false});
    }
  }

  Ranks<EndpointType> ranks;
  std::uint64_t buffer = 0;
  std::size_t posted = 0;
};

TYPED_TEST(EndedContexts, cancel_receives_that_wait_in_the_backlog) {
  for (const MatchOrder order : {MatchOrder::unordered, MatchOrder::ordered}) {
    RefusedReceives<TypeParam> queued;
    Contexts context(queued.ranks, {.order = order, .key = 3});
    Contexts other(queued.ranks, {.order = order, .key = 4});
    Recorder cancelled;
    queued.fill(context[0].tag(1), cancelled);
    queued.post(context[0].tag(2), {.completion = &cancelled, .may_retry = false});
    Recorder stays;
    queued.post(other[0].tag(2), {.completion = &stays, .may_retry = false});
    context.leave(0);
    ASSERT_EQ(cancelled.messages.size(), queued.posted - 1);
    for (const Message& message : cancelled.messages) EXPECT_EQ(message.outcome(), Outcome::cancelled);
    const std::uint64_t value = 9;
    ASSERT_TRUE(post(queued.ranks, 1, 0, other[1].tag(2), bytes_of(value)));
    ASSERT_TRUE(queued.ranks.progress_until([&] { return stays.ready(); }));
    EXPECT_EQ(queued.buffer, value);
    EXPECT_EQ(queued.ranks.runtime(0).counters().backlog_now, 0U);
  }
}

/// Ends a context of the first rank from inside of progress.
class EndsContext final : public Completion {
 public:
  explicit EndsContext(Contexts& contexts) : contexts_(contexts) {}
  ~EndsContext() override { withdraw(); }
  void signal(Message& message) noexcept override {
    outcome = message.outcome();
    contexts_.leave(0);
    has_ended = true;
  }
  [[nodiscard]] bool ready() const noexcept override { return has_ended; }
  Outcome outcome = Outcome::refused;
  bool has_ended = false;

 private:
  Contexts& contexts_;
};

TYPED_TEST(EndedContexts, cancel_what_waits_behind_inside_of_the_backlog) {
  RefusedReceives<TypeParam> queued;
  Contexts context(queued.ranks, {.order = MatchOrder::ordered, .key = 3});
  const std::uint64_t value = 9;
  ASSERT_TRUE(post(queued.ranks, 1, 0, context[1].tag(2), bytes_of(value)));
  ProbedMessage found;
  ASSERT_TRUE(queued.ranks.progress_until(
      [&] { return queued.ranks.endpoint(0).probe(1, context[0].tag(2), found); }));
  ReceiveHandle first;
  Recorder cancelled;
  queued.post(context[0].tag(1), {.completion = &cancelled, .handle = &first});
  queued.fill(context[0].tag(1), cancelled);
  EndsContext ends(context);
  queued.post(context[0].tag(2), {.completion = &ends, .may_retry = false});
  queued.post(context[0].tag(1), {.completion = &cancelled, .may_retry = false});
  // Room for the receive that waits first, then the second takes its message, and the third is cancelled.
  ASSERT_TRUE(queued.ranks.endpoint(0).cancel(first));
  ASSERT_TRUE(queued.ranks.progress_until([&] { return cancelled.messages.size() == queued.posted - 1; }))
      << cancelled.messages.size() << " of " << queued.posted - 1;
  EXPECT_TRUE(ends.has_ended);
  EXPECT_EQ(ends.outcome, Outcome::ok);
  EXPECT_EQ(queued.buffer, value);
  for (const Message& message : cancelled.messages) EXPECT_EQ(message.outcome(), Outcome::cancelled);
  EXPECT_EQ(queued.ranks.runtime(0).counters().backlog_now, 0U);
}

TYPED_TEST(EndedContexts, and_engines_that_are_closed_cancel_what_waits_in_the_backlog) {
  for (const bool is_ordered : {false, true}) {
    RefusedReceives<TypeParam> queued;
    const MatchingEngineOptions options{.id = is_ordered ? 300U : 3U,
                                        .order = is_ordered ? MatchOrder::ordered : MatchOrder::unordered};
    auto engine = std::make_unique<MatchingEngine>(queued.ranks.runtime(0), options);
    Recorder cancelled;
    while (queued.ranks.runtime(0).counters().backlog_now == 0 && !this->HasFatalFailure()) {
      ASSERT_LE(queued.posted, 10 * queued.kRecords);
      queued.post(std::uint64_t{1}, {.completion = &cancelled, .engine = engine->id(), .may_retry = false});
    }
    engine.reset();
    ASSERT_EQ(cancelled.messages.size(), queued.posted);
    for (const Message& message : cancelled.messages) EXPECT_EQ(message.outcome(), Outcome::cancelled);
    EXPECT_EQ(queued.ranks.runtime(0).counters().backlog_now, 0U);
  }
}

}  // namespace
}  // namespace weft
