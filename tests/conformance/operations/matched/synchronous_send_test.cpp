// Synchronous sends: they end when a receive has matched them, and not before.
#include "support/deadlines.hpp"
#include "support/errors.hpp"
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

namespace weft {
namespace {

using test::expect_names;
using test::kFar;
using test::matches;
using test::payload;
using test::Ranks;
using test::Recorder;

constexpr std::uint16_t kOrderedSynchronous = 256;
constexpr std::uint16_t kEngines[] = {0, kOrderedSynchronous};

template <class EndpointType>
class SynchronousSends : public testing::Test {
 protected:
  [[nodiscard]] bool ends(const Recorder& recorder, std::size_t messages = 1) {
    return ranks_.progress_until([&] { return recorder.messages.size() >= messages; });
  }
  [[nodiscard]] bool arrives(int at, std::uint64_t tag, std::uint16_t engine, int from = 0) {
    ProbedMessage found;
    return ranks_.progress_until(
        [&] { return ranks_.endpoint(at).probe(from, tag, found, {.engine = engine}); });
  }
  /// Receives the message of rank 0 with this tag, whose sender must not have ended before.
  void expect_received(int at, std::uint64_t tag, std::uint16_t engine, std::size_t size, std::uint64_t seed,
                       const Recorder& sent) {
    EXPECT_TRUE(sent.messages.empty()) << "no receive has matched it";
    Recorder received;
    std::vector<std::byte> buffer(size);
    ASSERT_TRUE(ranks_.endpoint(at)
                    .post_receive(0, tag, buffer, {.completion = &received, .engine = engine})
                    .is_posted());
    ASSERT_TRUE(ends(received));
    ASSERT_TRUE(ends(sent));
    EXPECT_EQ(received.messages[0].outcome(), Outcome::ok);
    EXPECT_EQ(received.messages[0].size(), size);
    EXPECT_TRUE(matches(buffer, seed));
    EXPECT_EQ(sent.messages.size(), 1U);
    EXPECT_EQ(sent.messages[0].outcome(), Outcome::ok);
    EXPECT_EQ(sent.messages[0].operation(), Operation::send);
  }
  Ranks<EndpointType> ranks_{2};
};
using Endpoints = testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(SynchronousSends, Endpoints);

TYPED_TEST(SynchronousSends, of_every_size_end_when_a_receive_has_matched) {
  auto& ranks = this->ranks_;
  ASSERT_TRUE(ranks.meet());
  for (const std::uint16_t engine : kEngines)
    for (const int to : {0, 1})
      for (const std::size_t size : test::border_sizes(ranks.runtime(0))) {
        Recorder sent;
        int mark = 0;
        const auto bytes = payload(size, size);
        const auto status = test::post_send(ranks, 0, to, size, bytes,
                                            {.completion = &sent,
                                             .user_data = &mark,
                                             .engine = engine,
                                             .may_complete_now = true,
                                             .synchronous = true});
        ASSERT_TRUE(status.has_value() && status->is_posted());
        ASSERT_TRUE(this->arrives(to, size, engine));
        this->expect_received(to, size, engine, size, size, sent);
        ASSERT_EQ(sent.messages.size(), 1U);
        EXPECT_EQ(sent.messages[0].user_data(), &mark);
        EXPECT_EQ(sent.messages[0].data(), bytes.data());
      }
}

TYPED_TEST(SynchronousSends, meet_receives_that_were_posted_before) {
  auto& ranks = this->ranks_;
  for (const std::uint16_t engine : kEngines)
    for (const std::size_t size : {0, 8, 3000, 100'000}) {
      Recorder sent;
      Recorder received;
      std::vector<std::byte> buffer(size);
      ASSERT_TRUE(ranks.endpoint(1)
                      .post_receive(0, 3, buffer, {.completion = &received, .engine = engine})
                      .is_posted());
      const auto bytes = payload(size, 1);
      ASSERT_TRUE(
          test::post_send(ranks, 0, 1, 3, bytes, {.completion = &sent, .engine = engine, .synchronous = true})
              .has_value());
      ASSERT_TRUE(this->ends(sent) && this->ends(received));
      EXPECT_EQ(sent.messages[0].outcome(), Outcome::ok);
      EXPECT_TRUE(matches(buffer, 1));
    }
}

TYPED_TEST(SynchronousSends, of_lists_and_packets_do_the_same) {
  auto& ranks = this->ranks_;
  ASSERT_TRUE(ranks.meet());
  for (const std::uint16_t engine : kEngines) {
    const auto bytes = payload(24, 5);
    const std::array<Bytes, 2> parts = {Bytes(bytes).first(7), Bytes(bytes).subspan(7)};
    Recorder of_list;
    ASSERT_TRUE(ranks.progress_until([&] {
      return ranks.endpoint(0)
          .post_send(1, 1, parts, {.completion = &of_list, .engine = engine, .synchronous = true})
          .is_posted();
    }));
    ASSERT_TRUE(this->arrives(1, 1, engine));
    this->expect_received(1, 1, engine, 24, 5, of_list);

    Packet packet = ranks.runtime(0).get_packet();
    ASSERT_TRUE(packet);
    test::fill({packet.data(), 1000}, 6);
    Recorder of_packet;
    ASSERT_TRUE(ranks.progress_until([&] {
      return ranks.endpoint(0)
          .post_send(1, 2, std::move(packet), 1000,
                     {.completion = &of_packet, .engine = engine, .synchronous = true})
          .is_posted();
    }));
    EXPECT_FALSE(packet) << "it was taken over";
    ASSERT_TRUE(this->arrives(1, 2, engine));
    this->expect_received(1, 2, engine, 1000, 6, of_packet);
    EXPECT_EQ(of_packet.messages[0].data(), nullptr);
  }
}

TYPED_TEST(SynchronousSends, that_are_persistent_or_generic_do_the_same) {
  auto& ranks = this->ranks_;
  ASSERT_TRUE(ranks.meet());
  const auto bytes = payload(8, 9);
  Recorder prepared;
  auto persistent =
      ranks.endpoint(0).prepare_send(1, 4, bytes, {.completion = &prepared, .synchronous = true});
  ASSERT_TRUE(ranks.progress_until([&] { return persistent.start().is_posted(); }));
  ASSERT_TRUE(this->arrives(1, 4, 0));
  this->expect_received(1, 4, 0, 8, 9, prepared);
  Recorder generic;
  ASSERT_TRUE(ranks.progress_until([&] {
    return ranks.endpoint(0)
        .post_comm(
            {.peer = 1, .source = bytes, .tag = 5, .completion = &generic, .matching = {.synchronous = true}})
        .is_posted();
  }));
  ASSERT_TRUE(this->arrives(1, 5, 0));
  this->expect_received(1, 5, 0, 8, 9, generic);
}

TYPED_TEST(SynchronousSends, keep_their_place_among_sends_of_all_kinds) {
  auto& ranks = this->ranks_;
  constexpr std::uint64_t kCount = 60;
  const std::size_t sizes[] = {8, 600, 100'000};
  std::vector<std::vector<std::byte>> payloads;
  Recorder sent;
  for (std::uint64_t number = 0; number < kCount; ++number)
    payloads.push_back(payload(sizes[number % 3], number));
  for (std::uint64_t number = 0; number < kCount; ++number)
    ASSERT_TRUE(test::post_send(
                    ranks, 0, 1, 7, payloads[number],
                    {.completion = &sent, .engine = kOrderedSynchronous, .synchronous = number / 3 % 2 == 0})
                    .has_value());
  std::vector<std::byte> buffer(100'000);
  for (std::uint64_t number = 0; number < kCount; ++number) {
    Recorder received;
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(any_source, any_tag, buffer,
                                  {.completion = &received, .engine = kOrderedSynchronous})
                    .is_posted());
    ASSERT_TRUE(this->ends(received));
    ASSERT_EQ(received.messages[0].size(), sizes[number % 3]) << number;
    EXPECT_TRUE(matches(Bytes(buffer).first(sizes[number % 3]), number));
  }
  EXPECT_TRUE(this->ends(sent, kCount));
}

TYPED_TEST(SynchronousSends, that_nobody_receives_end_as_refused) {
  auto& ranks = this->ranks_;
  ASSERT_TRUE(ranks.meet());
  for (const std::uint16_t engine : {std::uint16_t{7}, std::uint16_t{260}})
    for (const std::size_t size : {0, 8, 100'000}) {
      const auto post = [&](Recorder& sent, std::span<const std::byte> bytes) {
        return test::post_send(ranks, 0, 1, 1, bytes,
                               {.completion = &sent, .engine = engine, .synchronous = true})
            .has_value();
      };
      const auto bytes = payload(size, 1);
      // Its engine is closed.
      Recorder of_engine;
      auto opened = std::make_unique<MatchingEngine>(
          ranks.runtime(1), MatchingEngineOptions{.id = engine,
                                                  .order = engine < kMatchingEngines ? MatchOrder::unordered
                                                                                     : MatchOrder::ordered});
      ASSERT_TRUE(post(of_engine, bytes));
      ASSERT_TRUE(this->arrives(1, 1, engine));
      EXPECT_TRUE(of_engine.messages.empty());
      opened.reset();
      ASSERT_TRUE(this->ends(of_engine));
      EXPECT_EQ(of_engine.messages[0].outcome(), Outcome::refused);
      // The message that a probe has taken is dropped.
      Recorder of_probe;
      ASSERT_TRUE(post(of_probe, bytes));
      {
        MatchedMessage message;
        ASSERT_TRUE(ranks.progress_until([&] {
          message = ranks.endpoint(1).matched_probe(0, 1, {.engine = engine});
          return static_cast<bool>(message);
        }));
        EXPECT_TRUE(of_probe.messages.empty());
      }
      ASSERT_TRUE(this->ends(of_probe));
      EXPECT_EQ(of_probe.messages[0].outcome(), Outcome::refused);
    }
  // Other sends are only done with their buffer then.
  Recorder large;
  const auto bytes = payload(100'000, 1);
  ASSERT_TRUE(test::post_send(ranks, 0, 1, 1, bytes, {.completion = &large}).has_value());
  MatchedMessage message;
  ASSERT_TRUE(ranks.progress_until([&] {
    message = ranks.endpoint(1).matched_probe(0, 1);
    return static_cast<bool>(message);
  }));
  message = MatchedMessage();
  ASSERT_TRUE(this->ends(large));
  EXPECT_EQ(large.messages[0].outcome(), Outcome::ok);
}

TYPED_TEST(SynchronousSends, that_a_probe_has_taken_end_when_they_are_received) {
  auto& ranks = this->ranks_;
  for (const std::uint16_t engine : kEngines) {
    Recorder sent;
    const auto bytes = payload(8, 2);
    ASSERT_TRUE(
        test::post_send(ranks, 0, 1, 1, bytes, {.completion = &sent, .engine = engine, .synchronous = true})
            .has_value());
    MatchedMessage message;
    ASSERT_TRUE(ranks.progress_until([&] {
      message = ranks.endpoint(1).matched_probe(0, 1, {.engine = engine});
      return static_cast<bool>(message);
    }));
    EXPECT_TRUE(sent.messages.empty());
    Recorder received;
    std::vector<std::byte> buffer(8);
    ASSERT_TRUE(
        ranks.endpoint(1).post_receive(std::move(message), buffer, {.completion = &received}).is_posted());
    ASSERT_TRUE(this->ends(received) && this->ends(sent));
    EXPECT_EQ(sent.messages[0].outcome(), Outcome::ok);
    EXPECT_TRUE(matches(buffer, 2));
  }
}

TYPED_TEST(SynchronousSends, that_wait_too_long_end_in_time_and_never_arrive) {
  auto& ranks = this->ranks_;
  ASSERT_TRUE(ranks.meet());
  for (const std::uint16_t engine : kEngines) {
    Recorder sent;
    const auto bytes = payload(8, 2);
    ASSERT_TRUE(
        test::post_send(ranks, 0, 1, 1, bytes,
                        {.completion = &sent, .engine = engine, .timeout = test::kSoon, .synchronous = true})
            .has_value());
    ASSERT_TRUE(this->ends(sent));
    EXPECT_EQ(sent.messages[0].outcome(), Outcome::timed_out);
    ProbedMessage found;
    EXPECT_FALSE(ranks.endpoint(1).probe(0, 1, found, {.engine = engine}));
  }
}

TYPED_TEST(SynchronousSends, need_somebody_who_learns_of_the_end) {
  auto& ranks = this->ranks_;
  const std::uint64_t value = 1;
  for (const std::uint16_t engine : kEngines)
    expect_names(test::error_of([&] {
                   static_cast<void>(ranks.endpoint(0).post_send(1, 1, bytes_of(value),
                                                                 {.engine = engine, .synchronous = true}));
                 }),
                 {"post_send", "synchronous", "completion object"});
  expect_names(
      test::error_of([&] {
        static_cast<void>(ranks.endpoint(0).prepare_send(1, 1, bytes_of(value), {.synchronous = true}));
      }),
      {"prepare_send", "synchronous", "completion object"});
}

TYPED_TEST(SynchronousSends, that_block_return_when_the_receive_is_there) {
  auto& ranks = this->ranks_;
  ASSERT_TRUE(ranks.meet());
  for (const std::uint16_t engine : kEngines) {
    std::atomic<bool> is_posted{false};
    std::atomic<bool> ends{false};
    std::uint64_t got = 0;
    std::thread receiver([&] {
      auto& endpoint = ranks.endpoint(1);
      ProbedMessage found;
      while (!endpoint.probe(0, 6, found, {.engine = engine})) endpoint.progress();
      is_posted.store(true);
      EXPECT_EQ(endpoint.receive(0, 6, mutable_bytes_of(got), {.engine = engine}).outcome(), Outcome::ok);
      while (!ends.load()) endpoint.progress();
    });
    const std::uint64_t value = 78;
    EXPECT_EQ(ranks.endpoint(0).send(1, 6, bytes_of(value), {.engine = engine, .synchronous = true}),
              Outcome::ok);
    EXPECT_TRUE(is_posted.load());
    ends.store(true);
    receiver.join();
    EXPECT_EQ(got, value);
  }
}

}  // namespace
}  // namespace weft
