// Tags keep all their bits on every way to a peer: 64 of sends, 32 of active messages and signals.
#include "support/matched.hpp"
#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::post_send;
using test::Ranks;
using test::Recorder;

template <class EndpointType>
class WholeTags : public ::testing::Test {};
using Endpoints = ::testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(WholeTags, Endpoints);

constexpr std::uint16_t kWithOrder = 256;
constexpr std::uint16_t kSerialEngine = 3;
constexpr std::uint16_t kSerialOrdered = 257;
constexpr std::uint64_t kBase = 0x1122334455667788;

/// A tag, and those that differ from it in one bit.
template <class Tag>
std::vector<Tag> neighbours(Tag base) {
  std::vector<Tag> tags{base};
  for (std::size_t bit = 0; bit < 8 * sizeof(Tag); ++bit) tags.push_back(base ^ Tag{1} << bit);
  return tags;
}

std::vector<std::size_t> shuffled(std::size_t count, std::uint32_t seed) {
  std::vector<std::size_t> order(count);
  for (std::size_t place = 0; place < count; ++place) order[place] = place;
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

/// Sends under tags that differ in one bit, in one order, for receives in another. Each carries its number.
template <class EndpointType>
class Exchange {
 public:
  Exchange(Ranks<EndpointType>& ranks, std::size_t size, std::uint16_t engine, MatchingPolicy policy)
      : ranks_(ranks),
        size_(size),
        engine_(engine),
        policy_(policy),
        rooms_(tags_.size(), std::vector<std::byte>(size)) {}

  void posts() {
    for (const std::size_t number : shuffled(tags_.size(), 5))
      ASSERT_TRUE(ranks_.endpoint(1)
                      .post_receive(0, tags_[number], rooms_[number],
                                    {.completion = &received_,
                                     .user_data = &rooms_[number],
                                     .policy = policy_,
                                     .engine = engine_})
                      .is_accepted());
  }
  void sends() {
    for (const std::size_t number : shuffled(tags_.size(), 9)) {
      payloads_.push_back(test::payload(size_, number));
      ASSERT_TRUE(post_send(ranks_, 0, 1, tags_[number], payloads_.back(),
                            {.completion = &sent_, .policy = policy_, .engine = engine_}));
    }
  }
  void probes() {
    for (const std::uint64_t tag : tags_) {
      ProbedMessage found;
      ASSERT_TRUE(ranks_.progress_until(
          [&] { return ranks_.endpoint(1).probe(0, tag, found, {.policy = policy_, .engine = engine_}); }));
      EXPECT_EQ(found.tag, tag);
    }
  }
  void expect_ends() {
    ASSERT_TRUE(ranks_.progress_until(
        [&] { return received_.messages.size() == tags_.size() && sent_.messages.size() == tags_.size(); }));
    for (std::size_t number = 0; number < tags_.size(); ++number)
      EXPECT_TRUE(test::matches(rooms_[number], number)) << "bit " << number << " - 1";
    for (const Message& message : received_.messages) {
      const auto* const room = static_cast<const std::vector<std::byte>*>(message.user_data());
      EXPECT_EQ(message.tag(), tags_[static_cast<std::size_t>(room - rooms_.data())]);
    }
  }

 private:
  Ranks<EndpointType>& ranks_;
  const std::size_t size_;
  const std::uint16_t engine_;
  const MatchingPolicy policy_;
  const std::vector<std::uint64_t> tags_ = neighbours(kBase);
  std::vector<std::vector<std::byte>> rooms_;
  std::vector<std::vector<std::byte>> payloads_;
  Recorder received_;
  Recorder sent_;
};

TYPED_TEST(WholeTags, of_sends_are_matched_and_told_on_every_engine) {
  // Few buckets: many of the tags share one.
  Ranks<TypeParam> ranks(2, {{"matching_buckets", "64"}});
  std::deque<MatchingEngine> engines;
  for (int rank = 0; rank < 2; ++rank) {
    engines.emplace_back(ranks.runtime(rank), MatchingEngineOptions{.id = kSerialEngine, .serial = true});
    engines.emplace_back(ranks.runtime(rank),
                         MatchingEngineOptions{.id = kWithOrder, .order = MatchOrder::ordered});
    engines.emplace_back(
        ranks.runtime(rank),
        MatchingEngineOptions{.id = kSerialOrdered, .order = MatchOrder::ordered, .serial = true});
  }
  const std::size_t packet = test::size_attribute(ranks.runtime(0), "packet_size");
  for (const std::size_t size : {std::size_t{8}, std::size_t{200}, packet / 2, 2 * packet})
    for (const std::uint16_t engine : {std::uint16_t{0}, kSerialEngine, kWithOrder, kSerialOrdered})
      for (const MatchingPolicy policy : {MatchingPolicy::rank_and_tag, MatchingPolicy::tag_only}) {
        if (engine >= kWithOrder && policy != MatchingPolicy::rank_and_tag) continue;
        for (const bool before : {true, false}) {
          SCOPED_TRACE(std::to_string(size) + " bytes, engine " + std::to_string(engine) + ", policy " +
                       std::to_string(static_cast<int>(policy)) +
                       (before ? ", posted before" : ", unexpected"));
          Exchange<TypeParam> exchange(ranks, size, engine, policy);
          if (before) {
            ASSERT_NO_FATAL_FAILURE(exchange.posts());
          }
          ASSERT_NO_FATAL_FAILURE(exchange.sends());
          if (!before) {
            ASSERT_NO_FATAL_FAILURE(exchange.probes());
            ASSERT_NO_FATAL_FAILURE(exchange.posts());
          }
          ASSERT_NO_FATAL_FAILURE(exchange.expect_ends());
        }
      }
}

TYPED_TEST(WholeTags, of_active_messages_arrive) {
  Ranks<TypeParam> ranks(2);
  const std::vector<std::uint32_t> tags = neighbours<std::uint32_t>(0x89abcdef);
  Recorder recorder;
  const RemoteCompletion remote = ranks.runtime(1).expose(recorder, {.id = 0xfedc});
  const std::size_t packet = test::size_attribute(ranks.runtime(0), "packet_size");
  for (const std::size_t size : {std::size_t{8}, std::size_t{200}, packet / 2, 2 * packet}) {
    recorder.messages.clear();
    std::vector<std::vector<std::byte>> payloads;
    Counter sent;
    for (std::size_t number = 0; number < tags.size(); ++number) {
      payloads.push_back(test::payload(size, number));
      ASSERT_TRUE(ranks.post(0, 1, remote, payloads.back(), {.completion = &sent, .tag = tags[number]}));
    }
    ASSERT_TRUE(ranks.progress_until(
        [&] { return recorder.messages.size() == tags.size() && sent.value() == tags.size(); }));
    for (std::size_t number = 0; number < tags.size(); ++number)
      EXPECT_EQ(std::count_if(recorder.messages.begin(), recorder.messages.end(),
                              [&](const Message& message) {
                                return message.tag() == tags[number] &&
                                       test::matches(message.bytes(), number);
                              }),
                1)
          << size << " bytes, tag " << tags[number];
  }
}

TYPED_TEST(WholeTags, of_signals_arrive_behind_every_kind_of_access) {
  const std::vector<std::uint32_t> tags = neighbours<std::uint32_t>(0x89abcdef);
  for (const test::AccessSetting& setting : test::access_settings()) {
    SCOPED_TRACE(setting.name);
    Ranks<TypeParam> ranks(2, setting.attributes);
    test::Target target(ranks.runtime(1), setting, 64);
    const MappedRegion region = target.seen_by(ranks.runtime(0), setting);
    Recorder signals;
    const RemoteCompletion signal = ranks.runtime(1).expose(signals, {.id = 0x7654});
    std::uint64_t value = 1;
    const auto bytes = std::as_writable_bytes(std::span(&value, 1));
    std::size_t expected = 0;
    for (const std::uint32_t tag : tags)
      for (int kind = 0; kind < 3; ++kind) {
        Recorder ended;
        const AccessOptions options{.completion = &ended, .signal = signal, .tag = tag};
        ASSERT_TRUE(test::post_until(
                        [&] {
                          auto& endpoint = ranks.endpoint(0);
                          if (kind == 0) return endpoint.post_put(1, region.at(0), bytes, options);
                          if (kind == 1) return endpoint.post_get(1, region.at(0), bytes, options);
                          return endpoint.template post_atomic<std::uint64_t>(
                              1, region.at(8), AtomicOperation::add, 1, options);
                        },
                        [&] { ranks.progress(); })
                        .is_posted());
        ++expected;
        ASSERT_TRUE(
            ranks.progress_until([&] { return ended.ready() && signals.messages.size() == expected; }));
        EXPECT_EQ(signals.messages.back().tag(), tag) << "kind " << kind;
      }
  }
}

}  // namespace
}  // namespace weft
