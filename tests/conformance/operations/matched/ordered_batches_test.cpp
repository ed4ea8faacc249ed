// Ordered engines: messages of few tags that come in runs, before and after their receives, against what
// MPI's order makes of the same posts.
//
//     WEFTDEV_TEST_SEED=17 build/release/bin/tests/conformance-operations --gtest_filter='OrderedBatches*'
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::Ranks;

constexpr std::uint16_t kBatchEngine = kMatchingEngines;
constexpr std::uint64_t kTags = 3;
constexpr std::size_t kMostMessages = 200;  // fewer than there are credits: none may have a receive

struct Posted {
  std::optional<std::uint64_t> tag;  // none: any_tag
  bool is_counted = false;           // by a Counter, which is told of several at once
  std::uint64_t got = 0;             // number of the message, from 1
};

/// Which message each receive gets: in the order of their posts, each the first that fits and is left.
std::vector<std::uint64_t> expected_of(const std::deque<Posted>& receives,
                                       const std::vector<std::uint64_t>& tags) {
  std::vector<bool> is_taken(tags.size());
  std::vector<std::uint64_t> expected;
  for (const Posted& receive : receives) {
    expected.push_back(0);
    for (std::size_t message = 0; message < tags.size(); ++message) {
      if (is_taken[message] || (receive.tag && *receive.tag != tags[message])) continue;
      is_taken[message] = true;
      expected.back() = message + 1;
      break;
    }
  }
  return expected;
}

template <class EndpointType>
class OrderedBatches : public ::testing::Test {
 protected:
  /// The same ranks for all: over sockets a runtime takes longer to end than hundreds of messages to arrive.
  void play(Ranks<EndpointType>& ranks, std::uint64_t seed, bool is_serial, bool has_wildcards) {
    std::mt19937_64 random(seed);
    Counter counter;
    std::uint64_t handled = 0;
    Handler handler([&](Message& message) noexcept { handled += message.outcome() == Outcome::ok ? 1 : 0; });
    std::deque<Posted> receives;
    std::vector<std::uint64_t> tags;
    // The last to come: when they end they cancel what waits, and tell its completion objects.
    const MatchingEngineOptions options{
        .id = kBatchEngine, .order = MatchOrder::ordered, .serial = is_serial};
    MatchingEngine engines[] = {{ranks.runtime(0), options}, {ranks.runtime(1), options}};
    const auto post = [&](std::optional<std::uint64_t> tag, bool is_counted) {
      Posted& receive = receives.emplace_back(Posted{tag, is_counted, 0});
      Completion* const completion = is_counted ? static_cast<Completion*>(&counter) : &handler;
      const auto buffer = std::as_writable_bytes(std::span(&receive.got, 1));
      const ReceiveOptions how{.completion = completion, .engine = kBatchEngine, .may_retry = false};
      return tag ? ranks.endpoint(1).post_receive(0, *tag, buffer, how)
                 : ranks.endpoint(1).post_receive(0, any_tag, buffer, how);
    };
    const auto post_some = [&](std::size_t count) {
      const std::uint64_t tag = random() % kTags;
      const bool is_counted = random() % 3 != 0;
      for (; count > 0; --count) {
        const bool takes_any = has_wildcards && random() % 8 == 0;
        ASSERT_TRUE(post(takes_any ? std::nullopt : std::optional(tag), is_counted).is_accepted());
      }
    };
    const auto send_some = [&](std::size_t count) {
      const std::uint64_t tag = random() % kTags;
      for (; count > 0 && tags.size() < kMostMessages; --count) {
        tags.push_back(random() % 16 == 0 ? random() % kTags : tag);
        const std::uint64_t number = tags.size();
        ASSERT_TRUE(test::post_send(ranks, 0, 1, tags.back(), bytes_of(number), {.engine = kBatchEngine}));
      }
    };
    for (int step = 0; step < 40; ++step) {
      const std::size_t count = random() % 4 == 0 ? 1 + random() % 60 : 1 + random() % 6;
      if (random() % 2 == 0)
        post_some(count);
      else
        send_some(count);
      if (random() % 3 == 0)
        for (int visit = 0; visit < 3; ++visit) ranks.endpoint(1).progress();
    }
    // Nothing is left for the end to complain of.
    std::size_t left = tags.size();
    for (const std::uint64_t message : expected_of(receives, tags)) left -= message != 0 ? 1 : 0;
    for (; left > 0; --left) ASSERT_TRUE(post(std::nullopt, true).is_accepted());
    const std::vector<std::uint64_t> expected = expected_of(receives, tags);
    std::uint64_t counted = 0;
    std::uint64_t to_handler = 0;
    for (std::size_t place = 0; place < expected.size(); ++place)
      if (expected[place] != 0) ++(receives[place].is_counted ? counted : to_handler);
    ASSERT_TRUE(ranks.progress_until([&] { return counter.value() == counted && handled == to_handler; }));
    for (std::size_t place = 0; place < expected.size(); ++place)
      EXPECT_EQ(receives[place].got, expected[place]) << "receive " << place;
  }
};
using Endpoints = ::testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(OrderedBatches, Endpoints);

TYPED_TEST(OrderedBatches, match_as_plain_lists_do) {
  const char* const given = std::getenv("WEFTDEV_TEST_SEED");
  const std::uint64_t first = given != nullptr ? std::stoull(given) : 1;
  const std::uint64_t last = given != nullptr ? first : 60;
  Ranks<TypeParam> ranks(2);
  for (std::uint64_t seed = first; seed <= last && !this->HasFailure(); ++seed)
    for (const bool is_serial : {false, true})
      for (const bool has_wildcards : {false, true}) {
        SCOPED_TRACE("WEFTDEV_TEST_SEED=" + std::to_string(seed) + (is_serial ? ", serial" : ", shared") +
                     (has_wildcards ? ", wildcards" : ""));
        this->play(ranks, seed, is_serial, has_wildcards);
      }
}

}  // namespace
}  // namespace weft
