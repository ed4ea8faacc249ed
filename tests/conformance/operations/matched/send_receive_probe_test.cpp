// Receives that are cancelled, and messages that are looked at before they are received.
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::post_send;
using test::Ranks;
using test::Recorder;

template <class EndpointType>
class Probing : public ::testing::Test {};
using Endpoints = ::testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(Probing, Endpoints);

TYPED_TEST(Probing, receives_that_are_cancelled_end_once_and_leave_the_message_to_the_next) {
  Ranks<TypeParam> ranks(2);
  Recorder cancelled;
  std::uint64_t buffer = 0;
  ReceiveHandle handle;
  ASSERT_TRUE(ranks.endpoint(1)
                  .post_receive(0, 8, std::as_writable_bytes(std::span(&buffer, 1)),
                                {.completion = &cancelled, .user_data = &buffer, .handle = &handle})
                  .is_posted());
  ASSERT_TRUE(ranks.endpoint(1).cancel(handle));
  ASSERT_EQ(cancelled.messages.size(), 1U);
  EXPECT_EQ(cancelled.messages[0].outcome(), Outcome::cancelled);
  EXPECT_EQ(cancelled.messages[0].user_data(), &buffer);
  EXPECT_EQ(cancelled.messages[0].size(), 0U);
  EXPECT_FALSE(ranks.endpoint(1).cancel(handle));
  EXPECT_FALSE(ranks.endpoint(1).cancel(ReceiveHandle()));
  EXPECT_FALSE(ranks.endpoint(1).cancel({.index = 12345, .generation = 1, .engine = 999}));

  Recorder received;
  const std::uint64_t value = 99;
  ASSERT_TRUE(ranks.endpoint(1)
                  .post_receive(0, 8, std::as_writable_bytes(std::span(&buffer, 1)),
                                {.completion = &received, .handle = &handle})
                  .is_posted());
  ASSERT_TRUE(post_send(ranks, 0, 1, 8, bytes_of(value)));
  ASSERT_TRUE(ranks.progress_until([&] { return received.ready(); }));
  EXPECT_EQ(buffer, value);
  EXPECT_FALSE(ranks.endpoint(1).cancel(handle));
  EXPECT_EQ(received.messages.size(), 1U);
}

TYPED_TEST(Probing, the_handle_of_a_receive_that_found_its_message_names_no_later_receive) {
  Ranks<TypeParam> ranks(2);
  Recorder received;
  std::uint64_t buffer = 0;
  ReceiveHandle handle;
  ASSERT_TRUE(post_send(ranks, 0, 1, 8, bytes_of(std::uint64_t{99})));
  ProbedMessage found;
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(1).probe(0, 8, found); }));
  ASSERT_TRUE(ranks.endpoint(1)
                  .post_receive(0, 8, std::as_writable_bytes(std::span(&buffer, 1)),
                                {.completion = &received, .handle = &handle})
                  .is_accepted());
  EXPECT_EQ(received.messages.size(), 1U);
  ASSERT_TRUE(
      ranks.endpoint(1)
          .post_receive(0, 9, std::as_writable_bytes(std::span(&buffer, 1)), {.completion = &received})
          .is_posted());
  EXPECT_FALSE(ranks.endpoint(1).cancel(handle));
  EXPECT_EQ(received.messages.size(), 1U);
  ASSERT_TRUE(post_send(ranks, 0, 1, 9, bytes_of(std::uint64_t{7})));
  ASSERT_TRUE(ranks.progress_until([&] { return received.messages.size() == 2; }));
}

TYPED_TEST(Probing, messages_taken_out_by_a_matched_probe_belong_to_whoever_took_them) {
  Ranks<TypeParam> ranks(2);
  for (const std::size_t size : {std::size_t{8}, std::size_t{300}, std::size_t{5000}, std::size_t{100'000}}) {
    SCOPED_TRACE(size);
    Recorder sent;
    Recorder received;
    const auto bytes = test::payload(size, 3);
    ASSERT_TRUE(post_send(ranks, 0, 1, 2, bytes, {.completion = &sent}));
    MatchedMessage arrived;
    ASSERT_TRUE(ranks.progress_until([&] {
      arrived = ranks.endpoint(1).matched_probe(0, 2);
      return static_cast<bool>(arrived);
    }));
    EXPECT_EQ(arrived.info().length, size);
    ProbedMessage found;
    EXPECT_FALSE(ranks.endpoint(1).probe(0, 2, found));
    std::vector<std::byte> buffer(arrived.info().length);
    ASSERT_TRUE(
        ranks.endpoint(1).post_receive(std::move(arrived), buffer, {.completion = &received}).is_accepted());
    ASSERT_TRUE(ranks.progress_until([&] { return sent.ready() && received.ready(); }));
    EXPECT_TRUE(test::matches(buffer, 3));
    EXPECT_THROW(static_cast<void>(
                     ranks.endpoint(1).post_receive(std::move(arrived), buffer, {.completion = &received})),
                 Error);

    // One that is taken and dropped ends the sender's operation all the same.
    Recorder dropped;
    ASSERT_TRUE(post_send(ranks, 0, 1, 2, bytes, {.completion = &dropped}));
    ASSERT_TRUE(
        ranks.progress_until([&] { return static_cast<bool>(ranks.endpoint(1).matched_probe(0, 2)); }));
    ASSERT_TRUE(ranks.progress_until([&] { return dropped.ready(); }));
  }
}

TYPED_TEST(Probing, receives_that_find_their_message_at_once_may_be_done) {
  Ranks<TypeParam> ranks(2);
  const std::uint64_t value = 17;
  std::uint64_t buffer = 0;
  Recorder received;
  ASSERT_TRUE(post_send(ranks, 0, 1, 1, bytes_of(value)));
  ProbedMessage found;
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(1).probe(0, 1, found); }));
  Message arrived;
  const Status status = ranks.endpoint(1).post_receive(
      0, 1, std::as_writable_bytes(std::span(&buffer, 1)),
      {.completion = &received, .may_complete_now = true, .arrived = &arrived});
  EXPECT_TRUE(status.is_done());
  EXPECT_EQ(buffer, value);
  EXPECT_EQ(arrived.peer(), 0);
  EXPECT_EQ(arrived.size(), 8U);
  EXPECT_FALSE(received.ready());
}

}  // namespace
}  // namespace weft
