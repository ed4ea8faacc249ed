// Matching contexts: apart from each other and from engines, by key or numbers, freed and used again.
#include "support/errors.hpp"
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;
using test::Ranks;
using test::Recorder;

/// A context on every rank of a job in one process, of the same key or numbers.
class Contexts {
 public:
  template <class EndpointType>
  Contexts(Ranks<EndpointType>& ranks, const MatchingContextOptions& options) {
    for (int rank = 0; rank < ranks.size(); ++rank)
      own_.push_back(std::make_unique<MatchingContext>(ranks.runtime(rank), options));
  }
  /// Of numbers that rank `giver` has reserved.
  template <class EndpointType>
  Contexts(Ranks<EndpointType>& ranks, int giver, const MatchingContextOptions& options) {
    const ContextNumbers numbers = MatchingContext::reserve(ranks.runtime(giver), options.count);
    for (int rank = 0; rank < ranks.size(); ++rank)
      own_.push_back(
          std::make_unique<MatchingContext>(MatchingContext::of(ranks.runtime(rank), numbers, options)));
  }
  [[nodiscard]] MatchingContext& operator[](int rank) { return *own_[static_cast<std::size_t>(rank)]; }
  void leave(int rank) { own_[static_cast<std::size_t>(rank)].reset(); }

 private:
  std::vector<std::unique_ptr<MatchingContext>> own_;
};

template <class EndpointType, class Tag>
[[nodiscard]] bool post(Ranks<EndpointType>& ranks, int from, int to, const Tag& tag, Bytes bytes,
                        const SendOptions& options = {}) {
  return ranks.progress_until(
      [&] { return ranks.endpoint(from).post_send(to, tag, bytes, options).is_accepted(); });
}

template <class EndpointType>
class InContexts : public ::testing::Test {};
using Endpoints = ::testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(InContexts, Endpoints);

TYPED_TEST(InContexts, messages_match_only_receives_of_their_context) {
  for (const MatchOrder order : {MatchOrder::unordered, MatchOrder::ordered}) {
    for (const bool receives_first : {true, false}) {
      Ranks<TypeParam> ranks(2);
      Contexts by_key(ranks, {.order = order, .key = 7});
      Contexts other_key(ranks, {.order = order, .key = 8});
      Contexts agreed(ranks, 0, {.order = order});
      Contexts also_agreed(ranks, 1, {.order = order});
      Contexts parts(ranks, {.order = order, .key = 1000, .count = 3});
      const auto tags = [&](int rank) {
        return std::array<ContextTag, 7>{by_key[rank].tag(5),         other_key[rank].tag(5),
                                         agreed[rank].tag(5),         also_agreed[rank].tag(5),
                                         parts[rank].tag(5, 0),       parts[rank].tag(5, 2),
                                         by_key[rank].tag(4294967295)};
      };
      const auto sent = tags(0);
      const auto wanted = tags(1);
      constexpr std::size_t kAll = std::tuple_size_v<decltype(sent)>;
      std::array<Recorder, kAll + 1> received;
      std::array<std::uint64_t, kAll + 1> buffers{};
      const auto receive = [&] {
        for (std::size_t index = 0; index < kAll; ++index)
          ASSERT_TRUE(ranks.endpoint(1)
                          .post_receive(0, wanted[index], mutable_bytes_of(buffers[index]),
                                        {.completion = &received[index]})
                          .is_posted());
        ASSERT_TRUE(ranks.endpoint(1)
                        .post_receive(0, 5, mutable_bytes_of(buffers[kAll]), {.completion = &received[kAll]})
                        .is_posted());
      };
      if (receives_first) receive();
      // In another order than the receives.
      std::uint64_t value = 100 + kAll;
      ASSERT_TRUE(post(ranks, 0, 1, std::uint64_t{5}, bytes_of(value)));
      for (std::size_t index = kAll; index-- > 0;) {
        value = 100 + index;
        ASSERT_TRUE(post(ranks, 0, 1, sent[index], bytes_of(value)));
      }
      if (!receives_first) receive();
      ASSERT_TRUE(ranks.progress_until([&] {
        return std::all_of(received.begin(), received.end(), [](const Recorder& r) { return r.ready(); });
      }));
      for (std::size_t index = 0; index <= kAll; ++index) {
        EXPECT_EQ(buffers[index], 100 + index);
        EXPECT_EQ(received[index].messages[0].peer(), 0);
        if (index < kAll) {
          EXPECT_EQ(received[index].messages[0].tag(), wanted[index].word());
        }
      }
      EXPECT_EQ(received[0].messages[0].tag_in_context(), 5U);
      EXPECT_EQ(received[6].messages[0].tag_in_context(), 4294967295U);
      EXPECT_TRUE(by_key[1].has(received[0].messages[0].tag()));
      EXPECT_FALSE(by_key[1].has(received[1].messages[0].tag()));
      EXPECT_TRUE(parts[1].has(received[5].messages[0].tag()));
    }
  }
}

TYPED_TEST(InContexts, policies_that_ignore_the_tag_stay_in_their_context) {
  Ranks<TypeParam> ranks(2);
  Contexts one(ranks, {.key = 1});
  Contexts two(ranks, {.key = 2});
  for (const MatchingPolicy policy :
       {MatchingPolicy::rank_only, MatchingPolicy::tag_only, MatchingPolicy::any}) {
    const bool any_source_fits = policy != MatchingPolicy::rank_only;
    const std::uint32_t tag_of_receive = policy == MatchingPolicy::tag_only ? 5 : 6;
    std::uint64_t buffers[3] = {};
    Recorder received[3];
    const SendOptions sent{.policy = policy};
    for (int first = 0; first < 2; ++first) {  // both before and after their receives
      const auto receive = [&] {
        const int source = any_source_fits ? -1 : 0;
        ASSERT_TRUE(ranks.endpoint(1)
                        .post_receive(source, two[1].tag(tag_of_receive), mutable_bytes_of(buffers[1]),
                                      {.completion = &received[1], .policy = policy})
                        .is_posted());
        ASSERT_TRUE(ranks.endpoint(1)
                        .post_receive(source, tag_of_receive, mutable_bytes_of(buffers[2]),
                                      {.completion = &received[2], .policy = policy})
                        .is_posted());
        ASSERT_TRUE(ranks.endpoint(1)
                        .post_receive(source, one[1].tag(tag_of_receive), mutable_bytes_of(buffers[0]),
                                      {.completion = &received[0], .policy = policy})
                        .is_posted());
      };
      if (first == 0) receive();
      std::uint64_t values[3] = {1, 2, 3};
      ASSERT_TRUE(post(ranks, 0, 1, one[0].tag(5), bytes_of(values[0]), sent));
      ASSERT_TRUE(post(ranks, 0, 1, two[0].tag(5), bytes_of(values[1]), sent));
      ASSERT_TRUE(post(ranks, 0, 1, std::uint64_t{5}, bytes_of(values[2]), sent));
      if (first == 1) receive();
      ASSERT_TRUE(ranks.progress_until(
          [&] { return received[0].ready() && received[1].ready() && received[2].ready(); }));
      for (int index = 0; index < 3; ++index) {
        EXPECT_EQ(buffers[index], values[index]);
        EXPECT_EQ(received[index].messages.size(), 1U);
        received[index].messages.clear();
        buffers[index] = 0;
      }
    }
  }
}

TYPED_TEST(InContexts, wildcards_of_ordered_ones_stay_in_their_context) {
  Ranks<TypeParam> ranks(3);
  Contexts one(ranks, {.order = MatchOrder::ordered, .key = 3});
  Contexts same_engine(ranks, {.order = MatchOrder::ordered, .key = 11});
  ASSERT_EQ(one[0].engine(), same_engine[0].engine()) << "or they could not meet";
  std::uint64_t values[4] = {1, 2, 3, 4};
  std::uint64_t buffers[4] = {};
  Recorder received[4];
  ASSERT_TRUE(ranks.endpoint(0)
                  .post_receive(any_source, same_engine[0].any_tag(), mutable_bytes_of(buffers[0]),
                                {.completion = &received[0]})
                  .is_posted());
  ASSERT_TRUE(ranks.endpoint(0)
                  .post_receive(any_source, one[0].any_tag(), mutable_bytes_of(buffers[1]),
                                {.completion = &received[1]})
                  .is_posted());
  // The lower half of a mask counts, and no mask reaches another context.
  ASSERT_TRUE(ranks.endpoint(0)
                  .post_receive(2, one[0].tag(0x30), mutable_bytes_of(buffers[2]),
                                {.completion = &received[2], .tag_mask = 0xf0})
                  .is_posted());
  ASSERT_TRUE(post(ranks, 1, 0, one[1].tag(17), bytes_of(values[1])));
  ASSERT_TRUE(ranks.progress_until([&] { return received[1].ready(); }));
  ASSERT_TRUE(post(ranks, 2, 0, one[2].tag(0x37), bytes_of(values[2])));
  ASSERT_TRUE(ranks.progress_until([&] { return received[2].ready(); }));
  EXPECT_FALSE(received[0].ready());
  ASSERT_TRUE(post(ranks, 2, 0, same_engine[2].tag(18), bytes_of(values[0])));
  ASSERT_TRUE(ranks.progress_until([&] { return received[0].ready(); }));
  EXPECT_EQ(received[1].messages[0].tag_in_context(), 17U);
  EXPECT_EQ(received[1].messages[0].peer(), 1);
  EXPECT_EQ(received[2].messages[0].tag_in_context(), 0x37U);
  for (int index = 0; index < 3; ++index) EXPECT_EQ(buffers[index], values[index]);
  // Probes, of both kinds.
  ASSERT_TRUE(post(ranks, 1, 0, one[1].tag(40), bytes_of(values[3])));
  ProbedMessage found;
  ASSERT_TRUE(
      ranks.progress_until([&] { return ranks.endpoint(0).probe(any_source, one[0].any_tag(), found); }));
  EXPECT_EQ(found.tag_in_context(), 40U);
  EXPECT_FALSE(ranks.endpoint(0).probe(any_source, same_engine[0].any_tag(), found));
  EXPECT_FALSE(ranks.endpoint(0).matched_probe(1, same_engine[0].tag(40)));
  MatchedMessage taken = ranks.endpoint(0).matched_probe(any_source, one[0].any_tag());
  ASSERT_TRUE(taken);
  ASSERT_TRUE(ranks.endpoint(0)
                  .post_receive(std::move(taken), mutable_bytes_of(buffers[3]), {.completion = &received[3]})
                  .is_posted());
  EXPECT_EQ(buffers[3], 4U);
}

TYPED_TEST(InContexts, messages_of_every_size_arrive) {
  Ranks<TypeParam> ranks(2);
  for (const MatchOrder order : {MatchOrder::unordered, MatchOrder::ordered}) {
    Contexts context(ranks, 1, {.order = order});
    for (const std::size_t size : test::border_sizes(ranks.runtime(0))) {
      const auto sent = test::payload(size, size + 1);
      std::vector<std::byte> buffer(size);
      Recorder received;
      ASSERT_TRUE(ranks.endpoint(1)
                      .post_receive(0, context[1].tag(1), buffer, {.completion = &received})
                      .is_posted());
      ASSERT_TRUE(post(ranks, 0, 1, context[0].tag(1), sent));
      ASSERT_TRUE(ranks.progress_until([&] { return received.ready(); })) << size;
      EXPECT_TRUE(test::matches(buffer, size + 1)) << size;
    }
  }
}

TYPED_TEST(InContexts, a_destroyed_one_cancels_its_receives_and_drops_its_messages) {
  for (const MatchOrder order : {MatchOrder::unordered, MatchOrder::ordered}) {
    Ranks<TypeParam> ranks(2, {{"unexpected_credits", "8"}});
    Contexts stays(ranks, {.order = order, .key = 0});
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

TYPED_TEST(InContexts, late_messages_do_not_match_in_those_that_are_agreed_afterwards) {
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

TYPED_TEST(InContexts, that_are_agreed_and_have_ended_take_late_messages_without_their_credits) {
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

TYPED_TEST(InContexts, that_end_cancel_receives_that_wait_in_the_backlog) {
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

TYPED_TEST(InContexts, that_end_inside_of_the_backlog_cancel_what_waits_behind) {
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

TYPED_TEST(InContexts, and_engines_that_are_closed_cancel_what_waits_in_the_backlog) {
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

TYPED_TEST(InContexts, a_hundred_thousand_are_there_at_a_time) {
  Ranks<TypeParam> ranks(2);
  constexpr std::uint32_t kAll = 100'000;
  for (int round = 0; round < 2; ++round) {
    std::vector<MatchingContext> own[2];
    for (std::uint32_t index = 0; index < kAll; ++index) {
      const ContextNumbers numbers = MatchingContext::reserve(ranks.runtime(index % 2));
      for (int rank = 0; rank < 2; ++rank)
        own[rank].push_back(MatchingContext::of(ranks.runtime(rank), numbers));
    }
    std::set<std::uint32_t> numbers;
    for (const MatchingContext& context : own[0]) numbers.insert(context.number());
    EXPECT_EQ(numbers.size(), kAll);
    Counter received;
    std::uint64_t buffers[64] = {};
    for (std::uint32_t index = 0; index < kAll; index += 1563) {
      std::uint64_t& buffer = buffers[index / 1563];
      ASSERT_TRUE(
          ranks.endpoint(1)
              .post_receive(0, own[1][index].tag(3), mutable_bytes_of(buffer), {.completion = &received})
              .is_posted());
    }
    for (std::uint32_t index = 0; index < kAll; index += 1563) {
      const std::uint64_t value = index + 1;
      ASSERT_TRUE(post(ranks, 0, 1, own[0][index].tag(3), bytes_of(value)));
    }
    ASSERT_TRUE(ranks.progress_until([&] { return received.value() == 64; }));
    for (std::uint32_t index = 0; index < 64; ++index) EXPECT_EQ(buffers[index], index * 1563 + 1);
  }
}

TYPED_TEST(InContexts, wrong_use_is_refused_by_one_line) {
  Ranks<TypeParam> ranks(2);
  MatchingContext context(ranks.runtime(0), {.key = 5});
  MatchingContext of_other(ranks.runtime(1), {.key = 5});
  std::uint64_t value = 1;
  Counter never;
  const auto post_with = [&](const ContextTag& tag) {
    return [&ranks, &value, tag] { static_cast<void>(ranks.endpoint(0).post_send(1, tag, bytes_of(value))); };
  };
  expect_names(error_of(post_with(of_other.tag(1))), {"key 5", "another runtime"});
  expect_names(error_of([&] {
                 static_cast<void>(ranks.endpoint(0).post_receive(1, of_other.tag(1), mutable_bytes_of(value),
                                                                  {.completion = &never}));
               }),
               {"key 5", "another runtime"});
  std::optional<MatchingContext> freed;
  freed.emplace(ranks.runtime(0), MatchingContextOptions{.key = 6});
  const ContextTag old = freed->tag(1);
  freed.reset();
  expect_names(error_of(post_with(old)), {"key 6", "has been destroyed"});
  MatchingContext in_its_place(ranks.runtime(0), {.key = 60});
  expect_names(error_of(post_with(old)), {"key 6", "has been destroyed"});
  expect_names(error_of([&] { static_cast<void>(context.tag(std::uint64_t{1} << 32)); }),
               {"tag in a matching context", "4294967296", "0 to 4294967295"});
  expect_names(error_of([&] { static_cast<void>(context.tag(-1)); }), {"tag in a matching context", "-1"});
  expect_names(error_of([&] { static_cast<void>(context.tag(1, 1)); }), {"part 1", "0 to 0"});
  expect_names(error_of([&] { static_cast<void>(context.any_tag()); }), {"unordered", "MatchOrder::ordered"});
  expect_names(error_of([&] { MatchingContext again(ranks.runtime(0), {.key = 5}); }),
               {"key 5", "in use", "choose another key"});
  expect_names(error_of([&] { MatchingContext own(ranks.runtime(0), {.key = 0x7f000000}); }),
               {"key 2130706432", "0 to 2130706431"});
  expect_names(error_of([&] { MatchingContext own(ranks.runtime(0), {.key = 0x7effffff, .count = 2}); }),
               {"with a count of 2"});
  expect_names(error_of([&] { MatchingContext own(ranks.runtime(0), {.key = -2}); }),
               {"key of a matching context", "-2"});
  const std::array<int, 2> strange{0, 2};
  expect_names(error_of([&] { MatchingContext own(ranks.runtime(0), {.key = 9, .members = strange}); }),
               {"member 2", "0 to 1"});
  const std::array<int, 1> other{1};
  expect_names(error_of([&] { MatchingContext own(ranks.runtime(0), ranks.endpoint(0), other); }),
               {"rank 0 is not among"});
  const std::array<int, 2> twice{0, 0};
  expect_names(error_of([&] { MatchingContext own(ranks.runtime(0), ranks.endpoint(0), twice); }),
               {"member 0 is in the list twice"});
  expect_names(error_of([&] { MatchingEngine own(ranks.runtime(0), {.id = context.engine()}); }),
               {"serves the matching contexts", "choose another id"});
  MatchingContext moved = std::move(context);
  expect_names(error_of([&] { static_cast<void>(context.tag(1)); }), {"has been moved"});
  EXPECT_EQ(moved.number(), of_other.number());
}

}  // namespace
}  // namespace weft
