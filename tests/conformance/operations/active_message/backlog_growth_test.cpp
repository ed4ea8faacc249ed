// A backlog without bound: a post that may not answer retry does not, whatever nobody takes.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace weft {
namespace {

using test::matches;
using test::payload;
using test::Ranks;

const std::vector<AttributeSetting> kSmall = {
    {"backlog", "4"},  {"backlog_peer", "2"}, {"lane_slots", "64"}, {"lane_slots_max", "64"},
    {"packets", "32"}, {"requests", "16"},    {"held_packets", "1"}};
constexpr int kPosts = 400;

std::vector<AttributeSetting> growing(const char* grows) {
  auto attributes = kSmall;
  attributes.push_back({"backlog_grows", grows});
  attributes.push_back({"staging", "no"});  // frames would hold what shall fill the backlog
  return attributes;
}

/// Of slots, of several, of a packet, and beyond.
class GrowingBacklog : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(bytes, GrowingBacklog, testing::Values(8, 200, 3'000, 40'000));

TEST_P(GrowingBacklog, keeps_every_active_message_until_its_receiver_takes_it) {
  for (const bool has_completion : {false, true}) {
    Ranks<Endpoint> ranks(2, growing("yes"));
    int wrong = 0;
    int arrived = 0;
    Handler handler([&](Message& message) {
      ++arrived;
      wrong += !matches(message.bytes(), message.tag());
    });
    const RemoteCompletion remote = ranks.runtime(1).expose(handler, {.id = 1});
    ASSERT_TRUE(ranks.meet());
    Counter sent;
    std::vector<std::vector<std::byte>> payloads;
    for (std::uint32_t number = 0; number < kPosts; ++number) {
      payloads.push_back(payload(GetParam(), number));
      const Status status = ranks.endpoint(0).post_am(
          1, remote, payloads.back(),
          {.completion = has_completion ? &sent : nullptr, .tag = number, .may_retry = false});
      ASSERT_TRUE(status.is_accepted()) << number << ": " << name_of(status.reason());
      // Without a completion object the buffer is the poster's again.
      if (!has_completion) payloads.back().assign(GetParam(), std::byte{0});
    }
    EXPECT_GT(ranks.runtime(0).counters().backlog_highest, 4U);
    ASSERT_TRUE(ranks.progress_until(
        [&] { return arrived == kPosts && (!has_completion || sent.value() == kPosts); }));
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(ranks.runtime(0).counters().backlog_now, 0U);
  }
}

TEST_P(GrowingBacklog, keeps_sends_of_one_buffer_and_of_several) {
  Ranks<Endpoint> ranks(2, growing("yes"));
  ASSERT_TRUE(ranks.meet());
  for (std::uint64_t number = 0; number < kPosts; ++number) {
    auto bytes = payload(GetParam(), number);
    const std::array<Bytes, 2> parts{Bytes(bytes).first(GetParam() / 2),
                                     Bytes(bytes).subspan(GetParam() / 2)};
    const SendOptions options{.may_retry = false};
    const Status status = number % 2 == 0 ? ranks.endpoint(0).post_send(1, number, bytes, options)
                                          : ranks.endpoint(0).post_send(1, number, parts, options);
    ASSERT_TRUE(status.is_accepted()) << number << ": " << name_of(status.reason());
  }
  std::vector<std::byte> buffer(GetParam());
  for (std::uint64_t number = 0; number < kPosts; ++number) {
    test::Recorder received;
    ASSERT_TRUE(ranks.progress_until([&] {
      return ranks.endpoint(1).post_receive(0, number, buffer, {.completion = &received}).is_accepted();
    }));
    ASSERT_TRUE(ranks.progress_until([&] { return received.ready(); }));
    ASSERT_TRUE(matches(buffer, number)) << number;
  }
}

TEST(BacklogGrowth, is_on_request_only) {
  Ranks<Endpoint> ranks(2, growing("no"));
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  std::uint64_t accepted = 0;
  Status status = Status::done();
  while ((status = ranks.endpoint(0).post_am(1, remote, payload(8, 1), {.may_retry = false})).is_accepted())
    ASSERT_LT(++accepted, 100'000U);
  EXPECT_EQ(status.reason(), Reason::backlog) << name_of(status.reason());
  ASSERT_TRUE(ranks.progress_until([&] { return arrived.value() == accepted; }));
}

}  // namespace
}  // namespace weft
