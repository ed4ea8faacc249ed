// Matching engines: policies, keys of the user, several engines, engines that open late or end early.
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::post_send;
using test::Ranks;
using test::Recorder;

template <class EndpointType>
class Matching : public ::testing::Test {};
using Endpoints = ::testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(Matching, Endpoints);

TYPED_TEST(Matching, each_policy_compares_what_it_says) {
  Ranks<TypeParam> ranks(3);
  struct Case {
    MatchingPolicy policy;
    int source;         // of the receive
    std::uint64_t tag;  // of the receive
  };
  // Rank 1 sends with tag 5 under each policy. One receive of each policy meets it, though the others differ
  // in what is not compared.
  const std::array<Case, 4> cases{{{MatchingPolicy::rank_and_tag, 1, 5},
                                   {MatchingPolicy::rank_only, 1, 99},
                                   {MatchingPolicy::tag_only, -1, 5},
                                   {MatchingPolicy::any, -1, 77}}};
  for (const bool receives_first : {true, false}) {
    std::array<Recorder, 4> received;
    std::array<std::uint64_t, 4> buffers{};
    const auto receive = [&] {
      for (std::size_t index = 0; index < cases.size(); ++index)
        ASSERT_TRUE(ranks.endpoint(0)
                        .post_receive(cases[index].source, cases[index].tag,
                                      std::as_writable_bytes(std::span(&buffers[index], 1)),
                                      {.completion = &received[index], .policy = cases[index].policy})
                        .is_posted());
    };
    if (receives_first) receive();
    for (std::uint64_t index = 0; index < cases.size(); ++index)
      ASSERT_TRUE(post_send(ranks, 1, 0, 5, bytes_of(index), {.policy = cases[index].policy}));
    if (!receives_first) {
      ASSERT_TRUE(ranks.progress_until([&] {
        ProbedMessage found;
        return std::all_of(cases.begin(), cases.end(), [&](const Case& one) {
          return ranks.endpoint(0).probe(one.source, one.tag, found, {.policy = one.policy});
        });
      }));
      receive();
    }
    ASSERT_TRUE(ranks.progress_until([&] {
      return std::all_of(received.begin(), received.end(), [](const Recorder& r) { return r.ready(); });
    }));
    for (std::size_t index = 0; index < cases.size(); ++index) {
      EXPECT_EQ(buffers[index], index);
      EXPECT_EQ(received[index].messages[0].peer(), 1);
      EXPECT_EQ(received[index].messages[0].tag(), 5U);
    }
  }
  // A receive for another rank or tag meets nothing.
  Recorder never;
  std::uint64_t buffer = 0;
  ReceiveHandle by_rank;
  ReceiveHandle by_tag;
  ASSERT_TRUE(ranks.endpoint(0)
                  .post_receive(2, 5, std::as_writable_bytes(std::span(&buffer, 1)),
                                {.completion = &never, .handle = &by_rank})
                  .is_posted());
  ASSERT_TRUE(ranks.endpoint(0)
                  .post_receive(1, 6, std::as_writable_bytes(std::span(&buffer, 1)),
                                {.completion = &never, .handle = &by_tag})
                  .is_posted());
  ASSERT_TRUE(post_send(ranks, 1, 0, 5, bytes_of(buffer)));
  ProbedMessage found;
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(0).probe(1, 5, found); }));
  EXPECT_FALSE(never.ready());
  EXPECT_TRUE(ranks.endpoint(0).cancel(by_rank));
  EXPECT_TRUE(ranks.endpoint(0).cancel(by_tag));
  EXPECT_EQ(never.messages.size(), 2U);
  EXPECT_EQ(ranks.endpoint(0).receive(1, 5, std::as_writable_bytes(std::span(&buffer, 1))).size(), 8U);
}

TYPED_TEST(Matching, receives_that_are_cancelled_leave_their_room_to_others) {
  constexpr int kRecords = 64;
  constexpr int kRounds = 20'000;
  Ranks<TypeParam> ranks(2, {{"matching_records", "64"}});
  Counter never;
  std::uint64_t buffer = 0;
  for (int round = 0; round < kRounds; ++round) {
    ReceiveHandle handle;
    ASSERT_TRUE(ranks.endpoint(0)
                    .post_receive(1, static_cast<std::uint64_t>(round % 7),
                                  std::as_writable_bytes(std::span(&buffer, 1)),
                                  {.completion = &never, .handle = &handle})
                    .is_posted())
        << "receive " << round << " of an engine with " << kRecords << " records";
    ASSERT_TRUE(ranks.endpoint(0).cancel(handle));
  }
  EXPECT_EQ(never.value(), static_cast<std::uint64_t>(kRounds));
}

TYPED_TEST(Matching, sends_with_a_key_function_of_the_user_meet_where_keys_are_equal) {
  Ranks<TypeParam> ranks(2);
  const auto same_hundred = [](int, std::uint64_t tag, const void*) noexcept { return tag / 100; };
  MatchingEngine engine0(ranks.runtime(0), {.id = 9, .make_key = same_hundred});
  MatchingEngine engine1(ranks.runtime(1), {.id = 9, .make_key = same_hundred});
  Recorder received;
  std::uint64_t buffer = 0;
  const std::uint64_t value = 4711;
  ASSERT_TRUE(ranks.endpoint(1)
                  .post_receive(0, 301, std::as_writable_bytes(std::span(&buffer, 1)),
                                {.completion = &received, .policy = MatchingPolicy::user, .engine = 9})
                  .is_posted());
  ASSERT_TRUE(post_send(ranks, 0, 1, 450, bytes_of(value), {.policy = MatchingPolicy::user, .engine = 9}));
  ASSERT_TRUE(post_send(ranks, 0, 1, 399, bytes_of(value), {.policy = MatchingPolicy::user, .engine = 9}));
  ASSERT_TRUE(ranks.progress_until([&] { return received.ready(); }));
  EXPECT_EQ(buffer, value);
  EXPECT_EQ(received.messages[0].tag(), 3U);
  ProbedMessage found;
  ASSERT_TRUE(ranks.progress_until(
      [&] { return ranks.endpoint(1).probe(0, 400, found, {.policy = MatchingPolicy::user, .engine = 9}); }));
}

TYPED_TEST(Matching, sends_of_different_engines_do_not_meet) {
  Ranks<TypeParam> ranks(2);
  std::vector<std::unique_ptr<MatchingEngine>> engines;
  for (const std::uint16_t id : {std::uint16_t{1}, std::uint16_t{255}})
    for (int rank = 0; rank < 2; ++rank)
      engines.push_back(
          std::make_unique<MatchingEngine>(ranks.runtime(rank), MatchingEngineOptions{.id = id}));
  std::map<std::uint16_t, Recorder> received;
  std::map<std::uint16_t, std::uint64_t> buffers;
  for (const std::uint16_t id : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{255}})
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(0, 5, std::as_writable_bytes(std::span(&buffers[id], 1)),
                                  {.completion = &received[id], .engine = id})
                    .is_posted());
  for (const std::uint64_t id : {255U, 0U, 1U})
    ASSERT_TRUE(post_send(ranks, 0, 1, 5, bytes_of(id), {.engine = static_cast<std::uint16_t>(id)}));
  for (auto& [id, recorder] : received) {
    ASSERT_TRUE(ranks.progress_until([&recorder] { return recorder.ready(); }));
    EXPECT_EQ(buffers[id], id);
  }
}

TYPED_TEST(Matching, sends_before_the_peer_opens_the_engine_wait_there) {
  Ranks<TypeParam> ranks(2);
  for (const bool serial : {false, true}) {
    const std::uint16_t id = serial ? 4 : 3;
    // In notes, a block, a packet; longer ones may need the sender to act, which waits here.
    const std::array<std::size_t, 5> sizes{
        0, 8, 64, 480, std::min<std::size_t>(5000, ranks.endpoint(0).attributes().packet_bytes)};
    for (const std::size_t size : sizes) {
      ASSERT_TRUE(post_send(ranks, 0, 1, size, test::payload(size, size), {.engine = id}));
      ProbedMessage found;
      ASSERT_TRUE(
          ranks.progress_until([&] { return ranks.endpoint(1).probe(0, size, found, {.engine = id}); }));
      EXPECT_EQ(found.length, size);
    }
    MatchingEngine engine(ranks.runtime(1), {.id = id, .serial = serial});
    for (const std::size_t size : sizes) {
      std::vector<std::byte> buffer(size);
      EXPECT_EQ(ranks.endpoint(1).receive(0, size, buffer, {.engine = id}).size(), size);
      EXPECT_TRUE(test::matches(buffer, size)) << size;
    }
  }
}

TEST(MatchingEngineObject, that_is_opened_again_is_as_serial_as_its_new_owner_says) {
  Ranks<> ranks(1);
  for (const bool serial : {false, true, false}) {
    const MatchingEngine engine(ranks.runtime(0), {.id = 6, .serial = serial});
    EXPECT_EQ(engine.attributes().is_serial, serial);
    const std::uint64_t value = 5;
    std::uint64_t buffer = 0;
    ASSERT_TRUE(post_send(ranks, 0, 0, 1, bytes_of(value), {.engine = 6}));
    EXPECT_EQ(
        ranks.endpoint(0).receive(0, 1, std::as_writable_bytes(std::span(&buffer, 1)), {.engine = 6}).size(),
        sizeof buffer);
    EXPECT_EQ(buffer, value);
  }
}

TEST(MatchingEngineObject, that_ends_cancels_its_receives_and_drops_its_messages) {
  Ranks<> ranks(2);
  Recorder receives;
  Recorder sends;
  std::uint64_t buffer = 0;
  const auto large = test::payload(100'000, 1);
  {
    const MatchingEngine engine(ranks.runtime(1), {.id = 3});
    for (std::uint64_t tag = 0; tag < 5; ++tag)
      ASSERT_TRUE(ranks.endpoint(1)
                      .post_receive(0, tag, std::as_writable_bytes(std::span(&buffer, 1)),
                                    {.completion = &receives, .engine = 3})
                      .is_posted());
    ASSERT_TRUE(post_send(ranks, 0, 1, 10, bytes_of(buffer), {.completion = &sends, .engine = 3}));
    ASSERT_TRUE(post_send(ranks, 0, 1, 11, large, {.completion = &sends, .engine = 3}));
    ProbedMessage found;
    ASSERT_TRUE(ranks.progress_until([&] {
      return ranks.endpoint(1).probe(0, 10, found, {.engine = 3}) &&
             ranks.endpoint(1).probe(0, 11, found, {.engine = 3});
    }));
  }
  EXPECT_EQ(receives.messages.size(), 5U);
  for (const Message& message : receives.messages) EXPECT_EQ(message.outcome(), Outcome::cancelled);
  ASSERT_TRUE(ranks.progress_until([&] { return sends.messages.size() == 2; }));
}

}  // namespace
}  // namespace weft
