// Ordered engines: messages of few tags and of several sizes that come in runs, before and after their
// receives, against what MPI's order makes of the same posts.
//
//     WEFTDEV_TEST_SEED=17 build/release/bin/tests/conformance-operations --gtest_filter='OrderedBatches*'
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::Ranks;

constexpr std::uint16_t kBatchEngine = kMatchingEngines;
constexpr std::uint64_t kTags = 3;
constexpr std::size_t kMostMessages = 200;  // fewer than there are credits: none may have a receive
constexpr std::size_t kMostPackets = 24;
constexpr std::size_t kInPacket = 4096;
// In one slot, in several, and in a packet.
constexpr std::size_t kSizes[] = {8, 8, 40, 41, 64, 144, 300, 512, 2048, kInPacket};

struct Posted {
  std::uint64_t tag = 0;
  std::uint64_t mask = 0;   // bits of the tag that count
  bool is_counted = false;  // by a Counter, which is told of several at once
  std::vector<std::byte> buffer = std::vector<std::byte>(kInPacket);

  [[nodiscard]] bool fits(std::uint64_t other) const { return ((tag ^ other) & mask) == 0; }
  /// The number of the message that has come, from 1.
  [[nodiscard]] std::uint64_t got() const {
    std::uint64_t number = 0;
    std::memcpy(&number, buffer.data(), sizeof number);
    return number;
  }
};

/// A message begins and ends with its number.
std::vector<std::byte> message_of(std::uint64_t number, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), &number, sizeof number);
  std::memcpy(bytes.data() + size - sizeof number, &number, sizeof number);
  return bytes;
}

/// Which message each receive gets: in the order of their posts, each the first that fits and is left.
std::vector<std::uint64_t> expected_of(const std::deque<Posted>& receives,
                                       const std::vector<std::uint64_t>& tags) {
  std::vector<bool> is_taken(tags.size());
  std::vector<std::uint64_t> expected;
  for (const Posted& receive : receives) {
    expected.push_back(0);
    for (std::size_t message = 0; message < tags.size(); ++message) {
      if (is_taken[message] || !receive.fits(tags[message])) continue;
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
    std::vector<std::size_t> sizes;
    std::size_t packets = 0;
    // The last to come: when they end they cancel what waits, and tell its completion objects.
    const MatchingEngineOptions options{
        .id = kBatchEngine, .order = MatchOrder::ordered, .serial = is_serial};
    MatchingEngine engines[] = {{ranks.runtime(0), options}, {ranks.runtime(1), options}};
    const auto post = [&](std::uint64_t tag, std::uint64_t mask, bool is_counted, int source) {
      Posted& receive = receives.emplace_back(Posted{tag, mask, is_counted});
      Completion* const completion = is_counted ? static_cast<Completion*>(&counter) : &handler;
      const ReceiveOptions how{
          .completion = completion, .engine = kBatchEngine, .may_retry = false, .tag_mask = mask};
      return mask != 0 ? ranks.endpoint(1).post_receive(source, tag, receive.buffer, how)
                       : ranks.endpoint(1).post_receive(source, any_tag, receive.buffer, how);
    };
    const auto post_some = [&](std::size_t count) {
      const std::uint64_t tag = random() % kTags;
      const bool is_counted = random() % 3 != 0;
      const bool comes_from_any = has_wildcards && random() % 4 == 0;
      constexpr std::uint64_t kMasks[] = {0, 1, 2};  // any tag, or some
      for (; count > 0; --count) {
        const std::uint64_t mask =
            has_wildcards && random() % 8 == 0 ? kMasks[random() % std::size(kMasks)] : ~std::uint64_t{0};
        ASSERT_TRUE(post(tag, mask, is_counted, comes_from_any ? any_source : 0).is_accepted());
      }
    };
    const auto send_some = [&](std::size_t count) {
      const std::uint64_t tag = random() % kTags;
      const std::size_t size = kSizes[random() % std::size(kSizes)];
      for (; count > 0 && tags.size() < kMostMessages; --count) {
        tags.push_back(random() % 16 == 0 ? random() % kTags : tag);
        sizes.push_back(size == kInPacket && ++packets > kMostPackets ? kSizes[0] : size);
        ASSERT_TRUE(test::post_send(ranks, 0, 1, tags.back(), message_of(tags.size(), sizes.back()),
                                    {.engine = kBatchEngine}));
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
    for (; left > 0; --left) ASSERT_TRUE(post(0, 0, true, 0).is_accepted());
    const std::vector<std::uint64_t> expected = expected_of(receives, tags);
    std::uint64_t counted = 0;
    std::uint64_t to_handler = 0;
    for (std::size_t place = 0; place < expected.size(); ++place)
      if (expected[place] != 0) ++(receives[place].is_counted ? counted : to_handler);
    ASSERT_TRUE(ranks.progress_until([&] { return counter.value() == counted && handled == to_handler; }));
    for (std::size_t place = 0; place < expected.size(); ++place) {
      ASSERT_EQ(receives[place].got(), expected[place]) << "receive " << place;
      if (expected[place] == 0) continue;
      receives[place].buffer.resize(sizes[expected[place] - 1]);
      EXPECT_EQ(receives[place].buffer, message_of(expected[place], receives[place].buffer.size()));
    }
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
