// Message classes of sends: credits of their own, and one order for all on ordered engines.
#include "support/classes.hpp"
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::kClasses;
using test::payload;
using test::post_send;
using test::Ranks;
using test::Recorder;

template <class EndpointType>
class ClassesOfSends : public testing::Test {};
using EndpointTypes = testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(ClassesOfSends, EndpointTypes);

TYPED_TEST(ClassesOfSends, have_credits_of_their_own) {
  constexpr std::uint64_t kCredits = 16;
  Ranks<TypeParam> ranks(2, {{"unexpected_credits", "16"}});
  // Posts until the class has no credit.
  const auto spend = [&](MessageClass message_class) {
    std::uint64_t sent = 0;
    const auto tag = static_cast<std::uint64_t>(message_class);
    EXPECT_TRUE(ranks.progress_until([&] {
      const Status status =
          ranks.endpoint(0).post_send(1, tag, bytes_of(sent), {.message_class = message_class});
      if (status.is_accepted()) ++sent;
      return status.is_retry() && status.reason() == Reason::no_credit;
    }));
    return sent;
  };
  const auto receive = [&](MessageClass message_class, std::uint64_t count) {
    for (std::uint64_t next = 0; next < count; ++next) {
      std::uint64_t value = 0;
      Recorder one;
      ASSERT_TRUE(ranks.endpoint(1)
                      .post_receive(0, static_cast<std::uint64_t>(message_class),
                                    std::as_writable_bytes(std::span(&value, 1)), {.completion = &one})
                      .is_posted());
      ASSERT_TRUE(ranks.progress_until([&] { return one.ready(); }));
      ASSERT_EQ(one.messages[0].outcome(), Outcome::ok);
    }
    for (int round = 0; round < 500; ++round) ranks.progress();  // credits are on their way back
  };
  std::array<std::uint64_t, 3> waiting{};
  for (const MessageClass each : kClasses) EXPECT_EQ(spend(each), kCredits) << static_cast<int>(each);
  // What comes back of one is of use to that one only.
  for (const MessageClass each : kClasses) {
    receive(each, kCredits);
    for (const MessageClass other : kClasses)
      if (other != each) {
        EXPECT_EQ(spend(other), 0U) << "while messages of another class are received";
      }
    const std::uint64_t again = spend(each);
    EXPECT_GE(again, kCredits - kCredits / 4) << "some may be on hold";
    waiting[static_cast<std::size_t>(each)] = again;
  }
  for (const MessageClass each : kClasses) receive(each, waiting[static_cast<std::size_t>(each)]);
}

TYPED_TEST(ClassesOfSends, meet_receives_under_every_policy_and_in_every_size) {
  Ranks<TypeParam> ranks(2);
  for (const MessageClass each : kClasses)
    for (const MatchingPolicy policy : {MatchingPolicy::rank_and_tag, MatchingPolicy::rank_only,
                                        MatchingPolicy::tag_only, MatchingPolicy::any})
      for (const bool is_unexpected : {false, true})
        for (const std::size_t size :
             {std::size_t{8}, std::size_t{300}, std::size_t{10'000}, std::size_t{100'000}}) {
          const auto bytes = payload(size, size);
          std::vector<std::byte> buffer(size);
          Recorder sent;
          Recorder received;
          const auto receive = [&] {
            ASSERT_TRUE(ranks.endpoint(1)
                            .post_receive(0, 4, buffer, {.completion = &received, .policy = policy})
                            .is_posted());
          };
          if (!is_unexpected) receive();
          ASSERT_TRUE(post_send(ranks, 0, 1, 4, bytes,
                                {.completion = &sent, .policy = policy, .message_class = each}));
          if (is_unexpected) {
            ProbedMessage found;
            ASSERT_TRUE(ranks.progress_until(
                [&] { return ranks.endpoint(1).probe(0, 4, found, {.policy = policy}); }));
            receive();
          }
          ASSERT_TRUE(ranks.progress_until([&] { return sent.ready() && received.ready(); }));
          ASSERT_TRUE(received.messages[0].size() == size && test::matches(buffer, size));
        }
}

TYPED_TEST(ClassesOfSends, keep_one_order_on_an_ordered_engine) {
  constexpr std::uint16_t kEngine = 256;
  constexpr std::uint64_t kCount = 300;
  constexpr std::size_t kSizes[] = {8, 41, 300, 3000, 40'000};
  for (const bool may_retry : {true, false}) {
    Ranks<TypeParam> ranks(2, {{"unexpected_credits", "16"}, {"lane_slots", "64"}, {"lane_slots_max", "64"}});
    Recorder sent;
    Recorder received;
    std::vector<std::vector<std::byte>> parts;
    for (std::uint64_t number = 0; number < kCount; ++number)
      parts.push_back(payload(kSizes[number % std::size(kSizes)], number));
    std::vector<std::vector<std::byte>> buffers(kCount, std::vector<std::byte>(40'000));
    std::uint64_t posted = 0;
    std::uint64_t receives = 0;
    ASSERT_TRUE(ranks.progress_until([&] {
      // Several at a time, so that the receiver has the choice.
      for (int burst = 0; burst < 20 && posted < kCount; ++burst) {
        const Status status =
            ranks.endpoint(0).post_send(1, posted, parts[posted],
                                        {.completion = &sent,
                                         .user_data = &parts[posted],
                                         .engine = kEngine,
                                         .may_retry = may_retry,
                                         .message_class = kClasses[(posted / 3 + posted) % kClasses.size()]});
        if (!status.is_accepted()) break;
        ++posted;
      }
      if (receives < kCount && receives < posted &&
          ranks.endpoint(1)
              .post_receive(any_source, any_tag, buffers[receives],
                            {.completion = &received, .user_data = &buffers[receives], .engine = kEngine})
              .is_posted())
        ++receives;
      return sent.messages.size() == kCount && received.messages.size() == kCount;
    })) << posted
        << " posted, " << received.messages.size() << " received";
    for (const Message& message : received.messages) {
      const auto place = static_cast<std::uint64_t>(
          static_cast<std::vector<std::byte>*>(message.user_data()) - buffers.data());
      ASSERT_EQ(message.tag(), place) << "the receive that was posted first gets what was posted first";
      ASSERT_TRUE(message.size() == parts[place].size() && test::matches(message.bytes(), place));
    }
  }
}

TYPED_TEST(ClassesOfSends, control_passes_sends_that_fill_their_lane) {
  Ranks<TypeParam> ranks(2, test::with_no_surprises({{"lane_slots", "64"}, {"lane_slots_max", "64"}}));
  // First contact in both classes.
  Recorder arrived;
  std::array<std::uint64_t, 3> buffers{};
  const auto receive = [&](std::uint64_t tag) {
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(0, tag, std::as_writable_bytes(std::span(&buffers[tag], 1)),
                                  {.completion = &arrived})
                    .is_posted());
  };
  for (std::uint64_t tag = 0; tag < 2; ++tag) {
    receive(tag);
    ASSERT_TRUE(post_send(ranks, 0, 1, tag, bytes_of(tag), {.message_class = kClasses[tag]}));
    ASSERT_TRUE(ranks.progress_until([&] { return arrived.messages.size() == tag + 1; }));
  }
  arrived.messages.clear();
  std::uint64_t normal = 0;
  while (ranks.endpoint(0).post_send(1, 0, bytes_of(normal)).is_accepted()) ASSERT_LT(++normal, 100'000U);
  EXPECT_GT(normal, 0U);
  const std::uint64_t value = 77;
  ASSERT_TRUE(
      ranks.endpoint(0).post_send(1, 1, bytes_of(value), {.message_class = MessageClass::control}).is_done());
  receive(0);
  receive(1);
  ASSERT_TRUE(ranks.progress_until([&] { return arrived.messages.size() == 2; }));
  if (!test::is_message_network(ranks.runtime(0))) {
    EXPECT_EQ(arrived.messages[0].tag(), 1U);
  }
  EXPECT_EQ(buffers[1], value);
  for (std::uint64_t next = 1; next < normal; ++next) receive(0);
  ASSERT_TRUE(ranks.progress_until([&] { return arrived.messages.size() == normal + 1; }));
}

}  // namespace
}  // namespace weft
