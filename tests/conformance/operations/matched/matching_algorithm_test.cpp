// Ordered engines with an algorithm of the program's own, and engines that count, over every network.
#include "support/matched.hpp"

#include <weft/matching/algorithm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "unit/core/matching/plain_list_algorithm.hpp"

namespace weft {
namespace {

using test::post_send;
using test::Ranks;
using test::Recorder;

constexpr std::uint16_t kPluginEngine = 256;
constexpr std::size_t kLargest = 100'000;

std::size_t size_of(std::uint64_t number) {
  constexpr std::array<std::size_t, 6> kSizes{8, 41, 20'000, 300, kLargest, 3000};
  return kSizes[number % kSizes.size()];
}

template <class EndpointType>
class Algorithm : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kCount = 24;

  [[nodiscard]] MatchingEngineOptions options(bool counters = true) const {
    return {.id = kPluginEngine, .order = MatchOrder::ordered, .algorithm = algorithm, .counters = counters};
  }
  bool send(std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t number = first; number < end; ++number) {
      payloads.push_back(test::payload(size_of(number), number));
      if (!post_send(ranks, 0, 1, number, payloads.back(), {.completion = &sent, .engine = kPluginEngine}))
        return false;
    }
    return true;
  }
  template <class Tag>
  bool receive(int source, Tag tag, ReceiveHandle* handle = nullptr) {
    buffers.emplace_back(kLargest);
    return ranks.endpoint(1)
        .post_receive(source, tag, buffers.back(),
                      {.completion = &received, .engine = kPluginEngine, .handle = handle})
        .is_accepted();
  }
  /// The tags that came, in the order of their coming; each message is whole.
  [[nodiscard]] std::vector<std::uint64_t> tags() const {
    std::vector<std::uint64_t> found;
    for (const Message& message : received.messages)
      found.push_back(message.outcome() == Outcome::ok && message.size() == size_of(message.tag()) &&
                              test::matches(message.bytes(), message.tag())
                          ? message.tag()
                          : ~std::uint64_t{0});
    return found;
  }

  Ranks<EndpointType> ranks{2};
  std::shared_ptr<test::PlainListAlgorithm> algorithm = std::make_shared<test::PlainListAlgorithm>();
  std::deque<std::vector<std::byte>> payloads;
  std::deque<std::vector<std::byte>> buffers;
  Recorder sent;
  Recorder received;
};
using Endpoints = ::testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(Algorithm, Endpoints);

TYPED_TEST(Algorithm, matches_messages_of_every_protocol_with_receives_posted_before) {
  const MatchingEngine engine(this->ranks.runtime(1), this->options());
  for (std::uint64_t tag = this->kCount; tag-- > 0;) ASSERT_TRUE(this->receive(0, tag));
  ASSERT_TRUE(this->send(0, this->kCount));
  ASSERT_TRUE(this->ranks.progress_until([&] { return this->received.messages.size() == this->kCount; }));
  std::vector<std::uint64_t> tags = this->tags();
  std::sort(tags.begin(), tags.end());
  for (std::uint64_t tag = 0; tag < this->kCount; ++tag) EXPECT_EQ(tags[tag], tag);
  const MatchingCounters counters = engine.counters();
  EXPECT_EQ(counters.arrivals.count, this->kCount);
  EXPECT_EQ(counters.arrivals.matched, this->kCount);
  EXPECT_EQ(counters.arrivals.compared, this->kCount * (this->kCount + 1) / 2)
      << "the last receive each time";
}

TYPED_TEST(Algorithm, matches_receives_with_wildcards_with_messages_that_came_before_in_order) {
  const MatchingEngine engine(this->ranks.runtime(1), this->options());
  ASSERT_TRUE(this->send(0, this->kCount));
  ProbedMessage found;
  ASSERT_TRUE(this->ranks.progress_until(
      [&] { return this->ranks.endpoint(1).probe(0, this->kCount - 1, found, {.engine = kPluginEngine}); }));
  EXPECT_EQ(found.length, size_of(this->kCount - 1));
  for (std::uint64_t place = 0; place < this->kCount; ++place)
    ASSERT_TRUE(this->receive(place % 2 == 0 ? any_source : 0, any_tag));
  ASSERT_TRUE(this->ranks.progress_until([&] { return this->received.messages.size() == this->kCount; }));
  EXPECT_EQ(engine.counters().posts.matched, this->kCount);
  EXPECT_EQ(engine.counters().posts.deepest, 1U) << "the oldest message each time";
}

TYPED_TEST(Algorithm, takes_over_what_an_engine_without_it_has) {
  ASSERT_TRUE(this->send(0, 4));
  ProbedMessage found;
  ASSERT_TRUE(this->ranks.progress_until(
      [&] { return this->ranks.endpoint(1).probe(0, 3, found, {.engine = kPluginEngine}); }));
  ASSERT_TRUE(this->receive(0, 9));
  ASSERT_TRUE(this->receive(any_source, 8));
  {
    const MatchingEngine engine(this->ranks.runtime(1), this->options());
    for (const std::uint64_t tag : {1, 0, 3, 2}) ASSERT_TRUE(this->receive(0, tag));
    ASSERT_TRUE(this->send(4, 10));
    for (const std::uint64_t tag : {4, 5, 6, 7}) ASSERT_TRUE(this->receive(0, tag));
    ASSERT_TRUE(this->ranks.progress_until([&] { return this->received.messages.size() == 10; }));
    std::vector<std::uint64_t> tags = this->tags();
    std::sort(tags.begin(), tags.end());
    for (std::uint64_t tag = 0; tag < 10; ++tag) EXPECT_EQ(tags[tag], tag);
  }
  // Opened again, it is an engine of weft's own.
  this->algorithm.reset();
  const MatchingEngine engine(this->ranks.runtime(1), this->options(false));
  ASSERT_TRUE(this->send(10, 11));
  ASSERT_TRUE(this->receive(0, 10));
  ASSERT_TRUE(this->ranks.progress_until([&] { return this->received.messages.size() == 11; }));
  EXPECT_EQ(engine.counters().arrivals.count, 0U) << "nobody has asked";
}

TYPED_TEST(Algorithm, lets_receives_be_cancelled) {
  const MatchingEngine engine(this->ranks.runtime(1), this->options());
  ReceiveHandle handle;
  ASSERT_TRUE(this->receive(0, 0, &handle));
  ASSERT_TRUE(this->receive(0, 0));
  EXPECT_TRUE(this->ranks.endpoint(1).cancel(handle));
  ASSERT_TRUE(this->send(0, 1));
  ASSERT_TRUE(this->ranks.progress_until([&] { return this->received.messages.size() == 2; }));
  EXPECT_EQ(this->received.messages[0].outcome(), Outcome::cancelled);
  EXPECT_EQ(this->received.messages[1].outcome(), Outcome::ok);
}

TYPED_TEST(Algorithm, is_for_ordered_engines) {
  try {
    const MatchingEngine engine(this->ranks.runtime(1), {.id = 7, .algorithm = this->algorithm});
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "matching engine 7 is unordered: a matching algorithm needs MatchOrder::ordered");
  }
}

TYPED_TEST(Algorithm, is_not_needed_for_counters_of_unordered_engines) {
  const MatchingEngine engine(this->ranks.runtime(1), {.id = 7, .counters = true});
  std::uint64_t value = 0;
  Recorder got;
  for (const bool is_early : {true, false}) {
    const auto post = [&] {
      return this->ranks.endpoint(1)
          .post_receive(0, 5, std::as_writable_bytes(std::span(&value, 1)), {.completion = &got, .engine = 7})
          .is_accepted();
    };
    if (is_early) {
      ASSERT_TRUE(post());
    }
    ASSERT_TRUE(post_send(this->ranks, 0, 1, 5, bytes_of(value), {.engine = 7}));
    if (!is_early) {
      ProbedMessage found;
      ASSERT_TRUE(this->ranks.progress_until(
          [&] { return this->ranks.endpoint(1).probe(0, 5, found, {.engine = 7}); }));
      ASSERT_TRUE(post());
    }
    ASSERT_TRUE(this->ranks.progress_until([&] { return got.messages.size() == (is_early ? 1U : 2U); }));
  }
  const MatchingCounters counters = engine.counters();
  EXPECT_EQ(counters.arrivals.count, 2U);
  EXPECT_EQ(counters.arrivals.matched, 1U);
  EXPECT_EQ(counters.arrivals.compared, 1U);
  EXPECT_EQ(counters.posts.count, 2U);
  EXPECT_EQ(counters.posts.matched, 1U);
  EXPECT_EQ(counters.posts.compared, 1U);
}

}  // namespace
}  // namespace weft
