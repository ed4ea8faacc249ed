// Matching contexts: apart from each other and from engines, by key or numbers, freed and used again.
#include "conformance/operations/matched/contexts/contexts.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::Contexts;
using test::error_of;
using test::expect_names;
using test::post;
using test::Ranks;
using test::Recorder;

template <class EndpointType>
class InContexts : public ::testing::Test {};
TYPED_TEST_SUITE(InContexts, test::ContextEndpoints);

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
