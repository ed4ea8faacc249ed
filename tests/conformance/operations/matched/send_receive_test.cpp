// Sends and receives between ranks: what meets what, whichever comes first.
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::post_send;
using test::Ranks;
using test::Recorder;

template <class EndpointType>
class SendReceive : public ::testing::Test {};
using Endpoints = ::testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(SendReceive, Endpoints);

TYPED_TEST(SendReceive, of_every_size_meets_a_receive_posted_before) {
  Ranks<TypeParam> ranks(2);
  for (const std::size_t size : test::border_sizes(ranks.runtime(0))) {
    SCOPED_TRACE(size);
    Recorder sent;
    Recorder received;
    const auto bytes = test::payload(size, size);
    std::vector<std::byte> buffer(size + 8);
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(0, 7, buffer, {.completion = &received, .user_data = &buffer})
                    .is_posted());
    const auto status = post_send(ranks, 0, 1, 7, bytes, {.completion = &sent, .user_data = &sent});
    ASSERT_TRUE(status && status->is_posted());
    ASSERT_TRUE(ranks.progress_until([&] { return sent.ready() && received.ready(); }));
    ASSERT_EQ(received.messages.size(), 1U);
    const Message& message = received.messages[0];
    EXPECT_EQ(message.operation(), Operation::receive);
    EXPECT_EQ(message.outcome(), Outcome::ok);
    EXPECT_EQ(message.peer(), 0);
    EXPECT_EQ(message.tag(), 7U);
    EXPECT_EQ(message.size(), size);
    EXPECT_EQ(message.length(), size);
    EXPECT_EQ(message.data(), buffer.data());
    EXPECT_EQ(message.user_data(), &buffer);
    EXPECT_TRUE(test::matches(message.bytes(), size));
    ASSERT_EQ(sent.messages.size(), 1U);
    EXPECT_EQ(sent.messages[0].operation(), Operation::send);
    EXPECT_EQ(sent.messages[0].user_data(), &sent);
    EXPECT_EQ(sent.messages[0].data(), bytes.data());
  }
}

TYPED_TEST(SendReceive, of_every_size_waits_for_a_receive_posted_later) {
  Ranks<TypeParam> ranks(2);
  for (const std::size_t size : test::border_sizes(ranks.runtime(0))) {
    SCOPED_TRACE(size);
    Recorder sent;
    Recorder received;
    const auto bytes = test::payload(size, size);
    ASSERT_TRUE(post_send(ranks, 0, 1, ~std::uint64_t{0} - size, bytes, {.completion = &sent}));
    ProbedMessage found;
    ASSERT_TRUE(
        ranks.progress_until([&] { return ranks.endpoint(1).probe(0, ~std::uint64_t{0} - size, found); }));
    EXPECT_EQ(found.peer, 0);
    EXPECT_EQ(found.tag, ~std::uint64_t{0} - size);
    EXPECT_EQ(found.length, size);
    std::vector<std::byte> buffer(size);
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(0, ~std::uint64_t{0} - size, buffer, {.completion = &received})
                    .is_posted());
    ASSERT_TRUE(ranks.progress_until([&] { return sent.ready() && received.ready(); }));
    EXPECT_EQ(received.messages[0].outcome(), Outcome::ok);
    EXPECT_TRUE(test::matches(buffer, size));
    EXPECT_FALSE(ranks.endpoint(1).probe(0, ~std::uint64_t{0} - size, found));
  }
}

TYPED_TEST(SendReceive, longer_than_the_buffer_ends_truncated_with_the_real_length) {
  Ranks<TypeParam> ranks(2);
  for (const bool before : {true, false})
    for (const std::size_t size : test::border_sizes(ranks.runtime(0))) {
      if (size == 0) continue;
      for (const std::size_t room : {std::size_t{0}, size / 2, size - 1}) {
        SCOPED_TRACE(std::to_string(size) + " into " + std::to_string(room));
        Recorder sent;
        Recorder received;
        const auto bytes = test::payload(size, size);
        std::vector<std::byte> buffer(room + 1, std::byte{0x5a});
        const auto receive = [&] {
          ASSERT_TRUE(ranks.endpoint(1)
                          .post_receive(0, 1, std::span(buffer).first(room), {.completion = &received})
                          .is_posted());
        };
        if (before) receive();
        ASSERT_TRUE(post_send(ranks, 0, 1, 1, bytes, {.completion = &sent}));
        if (!before) {
          ProbedMessage found;
          ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(1).probe(0, 1, found); }));
          receive();
        }
        ASSERT_TRUE(ranks.progress_until([&] { return sent.ready() && received.ready(); }));
        EXPECT_EQ(sent.messages[0].outcome(), Outcome::ok);
        EXPECT_EQ(received.messages[0].outcome(), Outcome::truncated);
        EXPECT_EQ(received.messages[0].size(), room);
        EXPECT_EQ(received.messages[0].length(), size);
        EXPECT_TRUE(
            std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(room), buffer.begin()));
        EXPECT_EQ(buffer[room], std::byte{0x5a});
      }
    }
}

TYPED_TEST(SendReceive, under_one_key_are_served_in_the_order_in_which_they_come) {
  Ranks<TypeParam> ranks(2);
  if (std::string(ranks.runtime(0).network()) == "sim")
    GTEST_SKIP() << "the simulated network reorders messages";
  Recorder received;
  constexpr std::uint32_t kCount = 40;
  std::array<std::uint32_t, kCount> buffers{};
  const auto receive = [&](std::uint32_t index) {
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(0, 3, std::as_writable_bytes(std::span(&buffers[index], 1)),
                                  {.completion = &received})
                    .is_posted());
  };
  for (std::uint32_t index = 0; index < kCount / 2; ++index) receive(index);
  for (std::uint32_t value = 0; value < kCount; ++value)
    ASSERT_TRUE(post_send(ranks, 0, 1, 3, bytes_of(value)));
  ASSERT_TRUE(ranks.progress_until([&] { return received.messages.size() == kCount / 2; }));
  for (std::uint32_t index = kCount / 2; index < kCount; ++index) {
    ProbedMessage found;
    ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(1).probe(0, 3, found); }));
    receive(index);
  }
  for (std::uint32_t index = 0; index < kCount; ++index) EXPECT_EQ(buffers[index], index);
}

TYPED_TEST(SendReceive, beyond_the_credits_wait_at_the_sender) {
  constexpr std::uint64_t kCredits = 16;
  Ranks<TypeParam> ranks(2, {{"unexpected_credits", "16"}, {"requests", "64"}});
  std::uint64_t sent = 0;
  Status status = Status::done();
  // Without a completion object nobody could be told when the buffer is free.
  static_cast<void>(ranks.progress_until([&] {
    status = ranks.endpoint(0).post_send(1, sent, bytes_of(sent));
    if (status.is_accepted()) ++sent;
    return status.is_retry() && status.reason() == Reason::no_credit;
  }));
  EXPECT_EQ(sent, kCredits);
  for (int round = 0; round < 100; ++round) ranks.progress();
  EXPECT_EQ(ranks.endpoint(0).post_send(1, sent, bytes_of(sent)).reason(), Reason::no_credit);

  // With one, the message waits in its buffer, and may be received first.
  Recorder completed;
  const std::uint64_t late = 1000;
  ASSERT_TRUE(post_send(ranks, 0, 1, late, bytes_of(late), {.completion = &completed}));
  std::uint64_t buffer = 0;
  Recorder received;
  ASSERT_TRUE(
      ranks.endpoint(1)
          .post_receive(0, late, std::as_writable_bytes(std::span(&buffer, 1)), {.completion = &received})
          .is_posted());
  ASSERT_TRUE(ranks.progress_until([&] { return completed.ready() && received.ready(); }));
  EXPECT_EQ(buffer, late);

  // Receiving gives credits back, in whatever order.
  for (std::uint64_t tag = kCredits; tag-- > 0;) {
    Recorder one;
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(0, tag, std::as_writable_bytes(std::span(&buffer, 1)), {.completion = &one})
                    .is_posted());
    ASSERT_TRUE(ranks.progress_until([&] { return one.ready(); }));
    EXPECT_EQ(buffer, tag);
  }
  for (std::uint64_t tag = 0; tag < 10 * kCredits; ++tag) {
    Recorder one;
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(0, tag, std::as_writable_bytes(std::span(&buffer, 1)), {.completion = &one})
                    .is_posted());
    ASSERT_TRUE(post_send(ranks, 0, 1, tag, bytes_of(tag)));
    ASSERT_TRUE(ranks.progress_until([&] { return one.ready(); }));
    EXPECT_EQ(buffer, tag);
  }
}

TYPED_TEST(SendReceive, of_packets_assembled_in_place_arrive_whole) {
  Ranks<TypeParam> ranks(2);
  Device device(ranks.runtime(0), {.index = 1});
  for (const std::size_t size : {std::size_t{0}, std::size_t{40}, std::size_t{41}, std::size_t{1000},
                                 ranks.endpoint(0).attributes().packet_bytes}) {
    SCOPED_TRACE(size);
    Packet packet = device.get_packet();
    ASSERT_TRUE(packet);
    ASSERT_LE(size, packet.capacity());
    test::fill(packet.bytes().first(size), 6);
    ASSERT_TRUE(ranks.progress_until(
        [&] { return ranks.endpoint(0).post_send(1, 1, std::move(packet), size).is_accepted(); }));
    EXPECT_FALSE(packet);
    std::vector<std::byte> buffer(size);
    Recorder received;
    ASSERT_TRUE(ranks.endpoint(1).post_receive(0, 1, buffer, {.completion = &received}).is_posted());
    ASSERT_TRUE(ranks.progress_until([&] { return received.ready(); }));
    EXPECT_TRUE(test::matches(buffer, 6));
  }
}

TYPED_TEST(SendReceive, to_oneself_meet_like_others) {
  Ranks<TypeParam> ranks(1);
  for (const std::size_t size : test::border_sizes(ranks.runtime(0))) {
    SCOPED_TRACE(size);
    Recorder received;
    std::vector<std::byte> buffer(size);
    const auto bytes = test::payload(size, 1);
    Recorder sent;
    ASSERT_TRUE(post_send(ranks, 0, 0, 1, bytes, {.completion = &sent}));
    ASSERT_TRUE(ranks.endpoint(0).post_receive(0, 1, buffer, {.completion = &received}).is_posted());
    ASSERT_TRUE(ranks.progress_until([&] { return received.ready() && sent.ready(); }));
    EXPECT_TRUE(test::matches(buffer, 1));
  }
}

TYPED_TEST(SendReceive, posted_in_handlers_go_to_the_backlog_when_they_are_refused) {
  Ranks<TypeParam> ranks(2, {{"unexpected_credits", "4"}});
  constexpr std::uint64_t kCount = 100;
  Recorder sent;
  auto flood = [&](Message&) {
    for (std::uint64_t tag = 0; tag < kCount; ++tag)
      EXPECT_TRUE(ranks.endpoint(1).post_send(0, tag, bytes_of(tag)).is_accepted());
  };
  Handler handler{flood};
  const auto remote = ranks.runtime(1).expose(handler, {.id = 1});
  ASSERT_TRUE(ranks.post(0, 1, remote, {}));
  for (std::uint64_t tag = 0; tag < kCount; ++tag) {
    std::uint64_t buffer = 0;
    Recorder received;
    ASSERT_TRUE(
        ranks.endpoint(0)
            .post_receive(1, tag, std::as_writable_bytes(std::span(&buffer, 1)), {.completion = &received})
            .is_posted());
    ASSERT_TRUE(ranks.progress_until([&] { return received.ready(); })) << tag;
    EXPECT_EQ(buffer, tag);
  }
}

TEST(SendReceiveErrors, name_the_thing_the_value_and_what_would_be_right) {
  Ranks<> ranks(2);
  Endpoint& endpoint = ranks.endpoint(0);
  Recorder recorder;
  std::array<std::byte, 8> buffer{};
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(
      message_of([&] { static_cast<void>(endpoint.post_send(2, 0, buffer)); }).find("peer 2 is not a rank"),
      std::string::npos);
  EXPECT_NE(message_of([&] {
              static_cast<void>(endpoint.post_receive(-1, 0, buffer, {.completion = &recorder}));
            }).find("source -1 is not a rank"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              static_cast<void>(endpoint.post_receive(1, 0, buffer, {}));
            }).find("completion object"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              static_cast<void>(endpoint.post_send(1, 0, buffer, {.engine = 512}));
            }).find("matching engine 512 is out of range: 0 to 511"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              static_cast<void>(endpoint.post_send(1, 0, buffer, {.policy = MatchingPolicy::user}));
            }).find("make_key"),
            std::string::npos);
  const MatchingEngine engine(ranks.runtime(0), {.id = 7});
  EXPECT_NE(message_of([&] { const MatchingEngine again(ranks.runtime(0), {.id = 7}); }).find("open already"),
            std::string::npos);
  EXPECT_FALSE(recorder.ready());
}

}  // namespace
}  // namespace weft
