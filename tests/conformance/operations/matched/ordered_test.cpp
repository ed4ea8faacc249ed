// Ordered engines: MPI's order over every protocol, path and network, and wildcards.
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::post_send;
using test::Ranks;
using test::Recorder;

constexpr std::uint16_t kOrderEngine = 256;
constexpr std::size_t kLargest = 100'000;

/// Of every protocol: in one slot, in several, in a packet, by rendezvous.
std::size_t size_of(std::uint64_t number) {
  constexpr std::size_t kSizes[] = {8, 40, 20'000, 41, 300, 9, kLargest, 3000, 8, 8, 700};
  return kSizes[number % std::size(kSizes)];
}

/// Messages and the receives that they have met.
struct Receives {
  explicit Receives(std::size_t count)
      : buffers(count, std::vector<std::byte>(kLargest)), tags(count, ~0ULL) {}

  template <class EndpointType, class Tag>
  Status post(EndpointType& endpoint, std::size_t place, int source, Tag tag,
              ReceiveHandle* handle = nullptr) {
    return endpoint.post_receive(source, tag, buffers[place],
                                 {.completion = &recorder,
                                  .user_data = &buffers[place],
                                  .engine = kOrderEngine,
                                  .may_retry = false,
                                  .handle = handle});
  }
  /// Notes who has met whom; false: a message has come torn.
  [[nodiscard]] bool look(std::uint64_t seed = 0) {
    for (const Message& message : recorder.messages) {
      const auto place = static_cast<std::size_t>(static_cast<std::vector<std::byte>*>(message.user_data()) -
                                                  buffers.data());
      tags[place] = message.tag();
      if (message.outcome() != Outcome::ok || message.size() != size_of(message.tag()) ||
          !test::matches(message.bytes(), seed + message.tag()))
        return false;
    }
    return true;
  }
  [[nodiscard]] std::size_t ended() const { return recorder.messages.size(); }

  std::vector<std::vector<std::byte>> buffers;
  std::vector<std::uint64_t> tags;  // by place of the receive
  Recorder recorder;
};

/// Sends messages `first` to `end`, whose tags are their numbers.
template <class EndpointType>
bool send_all(Ranks<EndpointType>& ranks, int from, int to, std::uint64_t first, std::uint64_t end,
              Recorder& sent, SendOptions options = {}) {
  static std::vector<std::vector<std::byte>> payloads;
  if (payloads.empty())
    for (std::uint64_t number = 0; number < 512; ++number)
      payloads.push_back(test::payload(size_of(number), number));
  options.completion = &sent;
  options.engine = kOrderEngine;
  for (std::uint64_t number = first; number < end; ++number)
    if (!post_send(ranks, from, to, number, payloads[number], options)) return false;
  return true;
}

template <class EndpointType>
class Ordered : public ::testing::Test {};
using Endpoints = ::testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(Ordered, Endpoints);

TYPED_TEST(Ordered, messages_of_all_sizes_meet_wildcard_receives_in_the_order_of_their_posts) {
  constexpr std::size_t kCount = 66;
  for (const bool early : {false, true}) {
    Ranks<TypeParam> ranks(2);
    Recorder sent;
    Receives receives(kCount);
    const auto post = [&](std::size_t place) {
      const int source = place % 2 == 0 ? any_source : 0;
      ASSERT_TRUE(receives.post(ranks.endpoint(1), place, source, any_tag).is_accepted());
    };
    if (early)
      for (std::size_t place = 0; place < kCount; ++place) post(place);
    ASSERT_TRUE(send_all(ranks, 0, 1, 0, kCount, sent));
    if (!early)
      for (std::size_t place = 0; place < kCount; ++place) post(place);
    ASSERT_TRUE(
        ranks.progress_until([&] { return receives.ended() == kCount && sent.messages.size() == kCount; }));
    ASSERT_TRUE(receives.look());
    for (std::size_t place = 0; place < kCount; ++place) EXPECT_EQ(receives.tags[place], place);
  }
}

TYPED_TEST(Ordered, the_receive_that_was_posted_first_wins_with_and_without_wildcards) {
  Ranks<TypeParam> ranks(2);
  Recorder sent;
  Receives receives(8);
  TypeParam& receiver = ranks.endpoint(1);
  // Each fits message 3; messages 4 and 5 fit those with wildcards only.
  ASSERT_TRUE(receives.post(receiver, 0, 0, std::uint64_t{3}).is_posted());
  ASSERT_TRUE(receives.post(receiver, 1, any_source, std::uint64_t{3}).is_posted());
  ASSERT_TRUE(receives.post(receiver, 2, 0, any_tag).is_posted());
  ASSERT_TRUE(receives.post(receiver, 3, 0, std::uint64_t{3}).is_posted());
  ASSERT_TRUE(receives.post(receiver, 4, any_source, any_tag).is_posted());
  ASSERT_TRUE(receives.post(receiver, 5, 0, std::uint64_t{3}).is_posted());
  std::size_t expected = 0;
  const auto send_one = [&](std::uint64_t number) {
    ASSERT_TRUE(send_all(ranks, 0, 1, number, number + 1, sent));
    ++expected;
    ASSERT_TRUE(ranks.progress_until([&] { return receives.ended() == expected; }));
  };
  send_one(3);
  send_one(3);
  send_one(4);
  send_one(3);
  send_one(5);
  send_one(3);
  ASSERT_TRUE(ranks.progress_until([&] { return sent.messages.size() == expected; }));
  ASSERT_TRUE(receives.look());
  EXPECT_EQ(receives.tags, (std::vector<std::uint64_t>{3, 3, 4, 3, 5, 3, ~0ULL, ~0ULL}));
  for (std::size_t number = 0; number < expected; ++number)
    EXPECT_EQ(receives.recorder.messages[number].user_data(), &receives.buffers[number]);
}

TYPED_TEST(Ordered, messages_of_several_senders_keep_the_order_of_each) {
  constexpr std::uint64_t kEach = 44;
  constexpr int kSenders = 3;
  Ranks<TypeParam> ranks(kSenders + 1);
  Recorder sent;
  Receives receives(kEach * kSenders);
  for (std::size_t place = 0; place < kEach * kSenders / 2; ++place)
    ASSERT_TRUE(receives.post(ranks.endpoint(0), place, any_source, any_tag).is_accepted());
  for (std::uint64_t number = 0; number < kEach; ++number)
    for (int sender = 1; sender <= kSenders; ++sender)
      ASSERT_TRUE(send_all(ranks, sender, 0, number, number + 1, sent));
  for (std::size_t place = kEach * kSenders / 2; place < kEach * kSenders; ++place)
    ASSERT_TRUE(receives.post(ranks.endpoint(0), place, any_source, any_tag).is_accepted());
  ASSERT_TRUE(ranks.progress_until(
      [&] { return receives.ended() == kEach * kSenders && sent.messages.size() == kEach * kSenders; }));
  ASSERT_TRUE(receives.look());
  std::vector<int> peers(receives.tags.size());
  for (const Message& message : receives.recorder.messages)
    peers[static_cast<std::size_t>(static_cast<std::vector<std::byte>*>(message.user_data()) -
                                   receives.buffers.data())] = message.peer();
  std::vector<std::uint64_t> next(kSenders + 1, 0);
  for (std::size_t place = 0; place < receives.tags.size(); ++place)
    EXPECT_EQ(receives.tags[place], next[static_cast<std::size_t>(peers[place])]++);
}

TYPED_TEST(Ordered, messages_to_several_devices_of_a_peer_keep_their_order) {
  constexpr std::uint64_t kCount = 55;
  Ranks<TypeParam> ranks(2);
  Device device(ranks.runtime(1), {.index = 1});
  TypeParam other(device);
  Recorder sent;
  Receives receives(kCount);
  std::vector<std::vector<std::byte>> payloads;
  for (std::uint64_t number = 0; number < kCount; ++number) {
    payloads.push_back(test::payload(size_of(number), number));
    const auto to = static_cast<std::uint8_t>(number / 3 % 2);
    Status status = Status::retry(Reason::none);
    ASSERT_TRUE(test::until(
        [&] {
          status = ranks.endpoint(0).post_send(1, number, payloads[number],
                                               {.completion = &sent, .engine = kOrderEngine, .device = to});
          return status.is_accepted();
        },
        [&] {
          other.progress();
          ranks.progress();
        }));
  }
  // One device after the other, the second first: what comes through it is ahead of its turn.
  for (int step = 0; step < 200; ++step) other.progress();
  for (std::size_t place = 0; place < kCount; ++place)
    ASSERT_TRUE(receives.post(ranks.endpoint(1), place, 0, any_tag).is_accepted());
  ASSERT_TRUE(test::until([&] { return receives.ended() == kCount && sent.messages.size() == kCount; },
                          [&] {
                            other.progress();
                            ranks.progress();
                          }));
  ASSERT_TRUE(receives.look());
  for (std::size_t place = 0; place < kCount; ++place) EXPECT_EQ(receives.tags[place], place);
}

TYPED_TEST(Ordered, sends_that_are_refused_and_kept_do_not_lose_their_place) {
  constexpr std::uint64_t kCount = 330;
  Ranks<TypeParam> ranks(2, {{"unexpected_credits", "16"}, {"lane_slots", "64"}});
  Recorder sent;
  Receives receives(kCount);
  ASSERT_TRUE(send_all(ranks, 0, 1, 0, kCount / 2, sent, {.may_retry = false}));
  for (std::size_t place = 0; place < kCount; ++place)
    ASSERT_TRUE(receives.post(ranks.endpoint(1), place, any_source, any_tag).is_accepted());
  ASSERT_TRUE(send_all(ranks, 0, 1, kCount / 2, kCount, sent, {.may_retry = false}));
  ASSERT_TRUE(
      ranks.progress_until([&] { return receives.ended() == kCount && sent.messages.size() == kCount; }));
  ASSERT_TRUE(receives.look());
  for (std::size_t place = 0; place < kCount; ++place) EXPECT_EQ(receives.tags[place], place);
}

TYPED_TEST(Ordered, sends_of_handlers_keep_the_order_of_their_posts) {
  constexpr std::uint64_t kCount = 200;
  Ranks<TypeParam> ranks(2, {{"unexpected_credits", "16"}, {"lane_slots", "64"}});
  Receives receives(kCount);
  std::uint64_t posted = 0;
  std::vector<std::vector<std::byte>> payloads;
  for (std::uint64_t number = 0; number < kCount; ++number)
    payloads.push_back(test::payload(size_of(number), number));
  Counter sent;
  bool all_accepted = true;
  Handler handler([&](Message&) noexcept {
    for (int each = 0; each < 4; ++each, ++posted)
      all_accepted =
          ranks.endpoint(0)
              .post_send(1, posted, payloads[posted], {.completion = &sent, .engine = kOrderEngine})
              .is_accepted() &&
          all_accepted;
  });
  const RemoteCompletion remote = ranks.runtime(0).expose(handler, {.id = 1});
  Handler same([](Message&) noexcept {});
  static_cast<void>(ranks.runtime(1).expose(same, {.id = 1}));
  for (std::uint64_t call = 0; call < kCount / 4; ++call) ASSERT_TRUE(ranks.post(1, 0, remote, {}));
  for (std::size_t place = 0; place < kCount; ++place)
    ASSERT_TRUE(receives.post(ranks.endpoint(1), place, any_source, any_tag).is_accepted());
  ASSERT_TRUE(ranks.progress_until([&] { return receives.ended() == kCount && sent.value() == kCount; }));
  EXPECT_TRUE(all_accepted);
  ASSERT_TRUE(receives.look());
  for (std::size_t place = 0; place < kCount; ++place) EXPECT_EQ(receives.tags[place], place);
}

TYPED_TEST(Ordered, probes_cancels_and_blocking_receives_know_wildcards) {
  Ranks<TypeParam> ranks(2);
  TypeParam& receiver = ranks.endpoint(1);
  const ReceiveOptions with_engine{.engine = kOrderEngine};
  Receives cancelled(2);
  ReceiveHandle handle;
  ASSERT_TRUE(cancelled.post(receiver, 0, any_source, any_tag, &handle).is_posted());
  ASSERT_TRUE(receiver.cancel(handle));
  EXPECT_FALSE(receiver.cancel(handle));
  ASSERT_EQ(cancelled.ended(), 1U);
  EXPECT_EQ(cancelled.recorder.messages[0].outcome(), Outcome::cancelled);

  ProbedMessage found;
  EXPECT_FALSE(receiver.probe(any_source, any_tag, found, with_engine));
  EXPECT_FALSE(receiver.matched_probe(any_source, any_tag, with_engine));
  Recorder sent;
  ASSERT_TRUE(send_all(ranks, 0, 1, 4, 8, sent));
  ASSERT_TRUE(ranks.progress_until([&] { return receiver.probe(0, 7, found, with_engine); }));
  ASSERT_TRUE(receiver.probe(any_source, any_tag, found, with_engine));
  EXPECT_EQ(found.tag, 4U);
  EXPECT_EQ(found.peer, 0);
  EXPECT_EQ(found.length, size_of(4));
  ASSERT_TRUE(receiver.probe(any_source, 6, found, with_engine));
  EXPECT_EQ(found.length, kLargest);
  EXPECT_FALSE(receiver.probe(1, any_tag, found, with_engine));

  MatchedMessage taken = receiver.matched_probe(any_source, any_tag, with_engine);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken.info().tag, 4U);
  std::vector<std::byte> buffer(kLargest);
  Message message = receiver.receive(any_source, any_tag, buffer, with_engine);
  EXPECT_EQ(message.tag(), 5U);
  EXPECT_TRUE(test::matches(message.bytes(), 5));
  Receives late(1);
  ASSERT_TRUE(receiver
                  .post_receive(std::move(taken), late.buffers[0],
                                {.completion = &late.recorder, .user_data = &late.buffers[0]})
                  .is_posted());
  ASSERT_TRUE(late.look());
  EXPECT_EQ(late.tags[0], 4U);
  Receives rest(2);
  ASSERT_TRUE(rest.post(receiver, 0, any_source, std::uint64_t{7}).is_accepted());
  ASSERT_TRUE(rest.post(receiver, 1, 0, any_tag).is_accepted());
  ASSERT_TRUE(ranks.progress_until([&] { return rest.ended() == 2 && sent.messages.size() == 4; }));
  ASSERT_TRUE(rest.look());
  EXPECT_EQ(rest.tags, (std::vector<std::uint64_t>{7, 6}));
}

TYPED_TEST(Ordered, engines_that_are_opened_late_keep_what_has_come_in_its_order) {
  constexpr std::uint64_t kCount = 33;
  Ranks<TypeParam> ranks(2);
  Recorder sent;
  ASSERT_TRUE(send_all(ranks, 0, 1, 0, kCount / 2, sent));
  const MatchingEngine engine(ranks.runtime(1),
                              {.id = kOrderEngine, .order = MatchOrder::ordered, .serial = true});
  EXPECT_EQ(engine.attributes().order, MatchOrder::ordered);
  EXPECT_TRUE(engine.attributes().is_serial);
  ASSERT_TRUE(send_all(ranks, 0, 1, kCount / 2, kCount, sent));
  Receives receives(kCount);
  for (std::size_t place = 0; place < kCount; ++place)
    ASSERT_TRUE(receives.post(ranks.endpoint(1), place, any_source, any_tag).is_accepted());
  ASSERT_TRUE(
      ranks.progress_until([&] { return receives.ended() == kCount && sent.messages.size() == kCount; }));
  ASSERT_TRUE(receives.look());
  for (std::size_t place = 0; place < kCount; ++place) EXPECT_EQ(receives.tags[place], place);
}

TEST(OrderedObject, that_ends_cancels_receives_with_wildcards_and_drops_its_messages) {
  Ranks<> ranks(2);
  Recorder sent;
  Receives receives(2);
  ProbedMessage found;
  {
    const MatchingEngine engine(ranks.runtime(1), {.id = kOrderEngine, .order = MatchOrder::ordered});
    ASSERT_TRUE(send_all(ranks, 0, 1, 0, 3, sent));
    ASSERT_TRUE(
        ranks.progress_until([&] { return ranks.endpoint(1).probe(0, 2, found, {.engine = kOrderEngine}); }));
    ASSERT_TRUE(receives.post(ranks.endpoint(1), 0, any_source, std::uint64_t{77}).is_posted());
    ASSERT_TRUE(receives.post(ranks.endpoint(1), 1, 0, std::uint64_t{78}).is_posted());
  }
  ASSERT_EQ(receives.ended(), 2U);
  for (const Message& message : receives.recorder.messages) EXPECT_EQ(message.outcome(), Outcome::cancelled);
  EXPECT_FALSE(ranks.endpoint(1).probe(any_source, any_tag, found, {.engine = kOrderEngine}));
  // The stream goes on where it was.
  ASSERT_TRUE(send_all(ranks, 0, 1, 3, 4, sent));
  ASSERT_TRUE(ranks.progress_until(
      [&] { return ranks.endpoint(1).probe(any_source, any_tag, found, {.engine = kOrderEngine}); }));
  EXPECT_EQ(found.tag, 3U);
  ASSERT_TRUE(ranks.progress_until([&] { return sent.messages.size() == 4; }));
}

// Threads of two ranks send to a third through their rank's endpoint; its threads receive and look, each for
// a tag of its own or for whatever comes. Under each tag, the messages of a sending thread come in order.
TEST(OrderedThreads, keep_the_order_of_each_thread) {
  constexpr int kThreads = 3;
  constexpr std::uint64_t kEach = 80;
  Ranks<Endpoint> ranks(3);
  std::atomic<int> wrong{0};
  std::atomic<int> running{3 * kThreads};
  std::vector<std::thread> workers;
  for (int sender : {1, 2})
    for (int thread = 0; thread < kThreads; ++thread)
      workers.emplace_back([&, sender, thread] {
        for (std::uint64_t number = 0; number < kEach; ++number) {
          const auto bytes = test::payload(size_of(number), number);
          static_cast<void>(ranks.endpoint(sender).send(0, static_cast<std::uint64_t>(thread), bytes,
                                                        {.engine = kOrderEngine}));
        }
        --running;
        while (running.load() != 0) ranks.endpoint(sender).progress();
      });
  for (int thread = 0; thread < kThreads; ++thread)
    workers.emplace_back([&, thread] {
      std::vector<std::byte> buffer(kLargest);
      std::uint64_t next[3] = {};
      for (std::uint64_t count = 0; count < 2 * kEach; ++count) {
        const int source = count % 3 == 0 || next[1] == kEach || next[2] == kEach
                               ? any_source
                               : 1 + static_cast<int>(count % 2);
        const Message message = ranks.endpoint(0).receive(source, static_cast<std::uint64_t>(thread), buffer,
                                                          {.engine = kOrderEngine});
        const std::uint64_t number = next[message.peer()]++;
        if (message.size() != size_of(number) || !test::matches(message.bytes(), number)) ++wrong;
      }
      --running;
      while (running.load() != 0) ranks.endpoint(0).progress();
    });
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace weft
