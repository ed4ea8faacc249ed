// Large messages whose timeout passes: withdrawn if the receiver has not begun to fetch them, else they end
// as they would have. Either way once, and the receiver knows the same.
#include <weft/testing/in_process_job.hpp>

#include "support/deadlines.hpp"
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::kFar;
using test::kSoon;
using test::matches;
using test::payload;
using test::Ranks;
using test::Recorder;

constexpr std::size_t kSize = 100'000;

class LargeDeadlines : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] bool ends(const Recorder& recorder, std::size_t messages = 1) {
    return ranks_.progress_until([&] { return recorder.messages.size() >= messages; });
  }
  Ranks<Endpoint> ranks_{2, {{"rendezvous", GetParam()}}};
};
INSTANTIATE_TEST_SUITE_P(rendezvous, LargeDeadlines, testing::Values("copy", "read"),
                         [](const auto& rendezvous) { return rendezvous.param; });

TEST_P(LargeDeadlines, sends_without_a_receive_are_withdrawn) {
  MatchingEngine ordered(ranks_.runtime(1), {.id = 256, .order = MatchOrder::ordered});
  MatchingEngine serial(ranks_.runtime(1), {.id = 2, .serial = true});
  ASSERT_TRUE(ranks_.meet());
  for (const std::uint16_t engine : {std::uint16_t{0}, std::uint16_t{2}, std::uint16_t{256}})
    for (const bool is_seen : {false, true}) {
      Recorder ended;
      int mark = 0;
      const auto bytes = payload(kSize, 1);
      ASSERT_TRUE(
          test::post_send(ranks_, 0, 1, 8, bytes,
                          {.completion = &ended, .user_data = &mark, .engine = engine, .timeout = 20ms})
              .has_value());
      ProbedMessage found;
      while (is_seen && !ranks_.endpoint(1).probe(0, 8, found, {.engine = engine}) && ended.messages.empty())
        ranks_.progress();
      ASSERT_TRUE(ends(ended));
      ASSERT_EQ(ended.messages[0].outcome(), Outcome::timed_out);
      EXPECT_EQ(ended.messages[0].operation(), Operation::send);
      EXPECT_EQ(ended.messages[0].user_data(), &mark);
      EXPECT_EQ(ended.messages[0].data(), bytes.data());
      EXPECT_FALSE(ranks_.endpoint(1).probe(0, 8, found, {.engine = engine}));
      // The next one is received, in its turn.
      Recorder received;
      std::vector<std::byte> buffer(kSize);
      const auto next = payload(kSize, 2);
      Recorder sent;
      ASSERT_TRUE(
          ranks_.endpoint(1)
              .post_receive(0, 8, buffer, {.completion = &received, .engine = engine, .may_retry = false})
              .is_posted());
      ASSERT_TRUE(
          test::post_send(ranks_, 0, 1, 8, next, {.completion = &sent, .engine = engine, .timeout = kFar})
              .has_value());
      ASSERT_TRUE(ends(received) && ends(sent));
      EXPECT_TRUE(matches(buffer, 2));
      EXPECT_EQ(sent.messages[0].outcome(), Outcome::ok);
      EXPECT_EQ(ended.messages.size(), 1U);
    }
}

TEST_P(LargeDeadlines, sends_of_lists_are_withdrawn_too) {
  Recorder ended;
  const auto bytes = payload(kSize, 1);
  const std::array<Bytes, 2> parts = {Bytes(bytes).first(kSize / 3), Bytes(bytes).subspan(kSize / 3)};
  ASSERT_TRUE(ranks_.progress_until([&] {
    return ranks_.endpoint(0).post_send(1, 8, parts, {.completion = &ended, .timeout = kSoon}).is_posted();
  }));
  ASSERT_TRUE(ends(ended));
  EXPECT_EQ(ended.messages[0].outcome(), Outcome::timed_out);
  ProbedMessage found;
  EXPECT_FALSE(ranks_.endpoint(1).probe(0, 8, found));
}

/// Gives no memory until it is told to.
class Miser final : public PayloadOwner {
 public:
  std::byte* allocate(std::size_t size) noexcept override {
    return is_generous ? new std::byte[size] : nullptr;
  }
  void release(std::byte* data, std::size_t, std::uint64_t) noexcept override { delete[] data; }
  bool is_generous = false;
};

/// One device moves the payloads of the others: requests and transfers are its own.
TEST(LargeDeadline, of_messages_that_another_device_moves_are_withdrawn) {
  InProcessJob job(2);
  const std::vector<AttributeSetting> settings = test::with_no_surprises({{"rendezvous_device", "1"}});
  Runtime sender(job, 0, {.attributes = settings});
  Runtime receiver(job, 1, {.attributes = settings});
  Device from_device(sender, {.index = 0});
  Device from_mover(sender, {.index = 1});
  Device to_device(receiver, {.index = 0});
  Device to_mover(receiver, {.index = 1});
  std::array<Endpoint, 4> endpoints = {Endpoint(from_device), Endpoint(from_mover), Endpoint(to_device),
                                       Endpoint(to_mover)};
  const auto until = [&](const auto& condition) {
    return test::until(condition, [&] {
      for (Endpoint& endpoint : endpoints) endpoint.progress();
    });
  };
  Miser miser;
  Recorder arrived;
  arrived.set_allocator(miser);
  const RemoteCompletion remote = receiver.expose(arrived, {.id = 1});
  const auto bytes = payload(kSize, 1);
  Recorder ended;
  ASSERT_TRUE(until([&] {
    return endpoints[0].post_am(1, remote, bytes, {.completion = &ended, .timeout = kSoon}).is_posted();
  }));
  ASSERT_TRUE(until([&] { return ended.messages.size() == 1; }));
  EXPECT_EQ(ended.messages[0].outcome(), Outcome::timed_out);
  ASSERT_TRUE(until([&] {
    return endpoints[0].post_send(1, 8, bytes, {.completion = &ended, .timeout = kSoon}).is_posted();
  }));
  ASSERT_TRUE(until([&] { return ended.messages.size() == 2; }));
  EXPECT_EQ(ended.messages[1].outcome(), Outcome::timed_out);
  EXPECT_TRUE(arrived.messages.empty());
}

TEST_P(LargeDeadlines, one_that_the_receiver_has_taken_ends_when_it_is_received) {
  Recorder ended;
  const auto bytes = payload(kSize, 1);
  ASSERT_TRUE(test::post_send(ranks_, 0, 1, 8, bytes, {.completion = &ended, .timeout = kSoon}).has_value());
  MatchedMessage taken;
  ASSERT_TRUE(ranks_.progress_until([&] {
    if (!taken) taken = ranks_.endpoint(1).matched_probe(0, 8);
    return static_cast<bool>(taken) || !ended.messages.empty();
  }));
  if (!taken) return;  // it was withdrawn before
  const auto end = std::chrono::steady_clock::now() + 20 * kSoon;
  while (std::chrono::steady_clock::now() < end) ranks_.progress();
  EXPECT_TRUE(ended.messages.empty());
  Recorder received;
  std::vector<std::byte> buffer(kSize);
  ASSERT_TRUE(
      ranks_.endpoint(1).post_receive(std::move(taken), buffer, {.completion = &received}).is_posted());
  ASSERT_TRUE(ends(received) && ends(ended));
  EXPECT_EQ(ended.messages[0].outcome(), Outcome::ok);
  EXPECT_TRUE(matches(buffer, 1));
}

TEST_P(LargeDeadlines, active_messages_without_memory_at_the_target_are_withdrawn) {
  Miser miser;
  Recorder arrived;
  arrived.set_allocator(miser);
  const RemoteCompletion remote = ranks_.runtime(1).expose(arrived, {.id = 1});
  ASSERT_TRUE(ranks_.meet());
  Recorder ended;
  int mark = 0;
  const auto bytes = payload(kSize, 1);
  ASSERT_TRUE(
      ranks_.post(0, 1, remote, bytes, {.completion = &ended, .user_data = &mark, .tag = 5, .timeout = kSoon})
          .has_value());
  ASSERT_TRUE(ends(ended));
  EXPECT_EQ(ended.messages[0].outcome(), Outcome::timed_out);
  EXPECT_EQ(ended.messages[0].operation(), Operation::active_message_sent);
  EXPECT_EQ(ended.messages[0].user_data(), &mark);
  miser.is_generous = true;
  Recorder sent;
  const auto next = payload(kSize, 2);
  ASSERT_TRUE(ranks_.post(0, 1, remote, next, {.completion = &sent, .timeout = kFar}).has_value());
  ASSERT_TRUE(ends(arrived) && ends(sent));
  EXPECT_TRUE(matches(arrived.messages[0].bytes(), 2));
  EXPECT_EQ(arrived.messages.size(), 1U);
  EXPECT_EQ(ended.messages.size(), 1U);
}

TEST_P(LargeDeadlines, calls_that_wait_return) {
  ASSERT_TRUE(ranks_.meet());
  std::atomic<bool> stop{false};
  std::thread peer([&] {
    while (!stop.load()) ranks_.endpoint(1).progress();
  });
  const auto bytes = payload(kSize, 1);
  EXPECT_EQ(ranks_.endpoint(0).send(1, 4, bytes, {.timeout = kSoon}), Outcome::timed_out);
  stop.store(true);
  peer.join();
}

/// A persistent send and a graph's send, which are the same operation.
TEST_P(LargeDeadlines, prepared_sends_and_those_of_graphs_are_withdrawn_too) {
  Recorder ended;
  const auto bytes = payload(kSize, 1);
  auto prepared = ranks_.endpoint(0).prepare_send(1, 8, bytes, {.completion = &ended, .timeout = kSoon});
  for (std::size_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(ranks_.progress_until([&] { return prepared.start().is_accepted(); }));
    ASSERT_TRUE(ends(ended, round));
    EXPECT_EQ(ended.messages.back().outcome(), Outcome::timed_out);
  }
  Graph graph;
  graph.add_send(ranks_.endpoint(0), 1, 8, bytes, {.timeout = kSoon});
  graph.start();
  ASSERT_TRUE(ranks_.progress_until([&] { return graph.test(); }));
  EXPECT_EQ(graph.outcome(), Outcome::timed_out);
}

/// Receives are posted at any time while timeouts pass: sender and receiver agree about every message.
TEST_P(LargeDeadlines, races_end_every_message_once_at_both_sides) {
  ASSERT_TRUE(ranks_.meet());
  std::mt19937_64 random(7);
  constexpr std::uint64_t kMessages = 300;
  Recorder ended;
  Recorder received;
  std::vector<std::vector<std::byte>> sources(kMessages);
  std::vector<std::vector<std::byte>> targets(kMessages);
  std::vector<ReceiveHandle> handles(kMessages);
  for (std::uint64_t tag = 0; tag < kMessages; ++tag) {
    sources[tag] = payload(20'000, tag);
    targets[tag].resize(20'000);
    ASSERT_TRUE(test::post_send(ranks_, 0, 1, tag, sources[tag],
                                {.completion = &ended,
                                 .user_data = sources[tag].data(),
                                 .timeout = std::chrono::microseconds(random() % 2000)})
                    .has_value());
    for (std::uint64_t step = random() % 20; step > 0; --step) ranks_.progress();
    ASSERT_TRUE(ranks_.progress_until([&] {
      return ranks_.endpoint(1)
          .post_receive(0, tag, targets[tag],
                        {.completion = &received, .may_retry = false, .handle = &handles[tag]})
          .is_posted();
    }));
  }
  ASSERT_TRUE(ends(ended, kMessages));
  std::uint64_t sent = 0;
  for (const Message& message : ended.messages) sent += message.outcome() == Outcome::ok ? 1 : 0;
  ASSERT_TRUE(ends(received, sent));
  for (const ReceiveHandle& handle : handles) static_cast<void>(ranks_.endpoint(1).cancel(handle));
  ASSERT_EQ(received.messages.size(), kMessages);
  ASSERT_EQ(ended.messages.size(), kMessages);
  std::uint64_t got = 0;
  for (const Message& message : received.messages) {
    if (message.outcome() != Outcome::ok) continue;
    ++got;
    EXPECT_TRUE(matches(targets[message.tag()], message.tag()));
  }
  EXPECT_EQ(got, sent);
}

/// The same with a thread for each rank, and one more that posts.
TEST_P(LargeDeadlines, of_threads_end_every_message_once) {
  ASSERT_TRUE(ranks_.meet());
  constexpr std::uint64_t kMessages = 200;
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> timed_out{0};
  std::atomic<std::uint64_t> received{0};
  std::atomic<bool> is_over{false};
  const auto bytes = payload(20'000, 3);
  Handler on_sent(
      [&](Message& message) { (message.outcome() == Outcome::ok ? sent : timed_out).fetch_add(1); });
  Handler on_received([&](Message& message) {
    if (message.outcome() == Outcome::ok && matches(message.bytes(), 3)) received.fetch_add(1);
  });
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      while (!is_over.load()) ranks_.endpoint(rank).progress();
    });
  std::vector<std::vector<std::byte>> targets(kMessages, std::vector<std::byte>(20'000));
  std::vector<ReceiveHandle> handles(kMessages);
  threads.emplace_back([&] {
    for (std::uint64_t tag = 0; tag < kMessages; ++tag) {
      while (!ranks_.endpoint(0)
                  .post_send(1, tag, bytes,
                             {.completion = &on_sent, .timeout = std::chrono::microseconds(tag * 37 % 1500)})
                  .is_accepted())
        std::this_thread::yield();
    }
  });
  threads.emplace_back([&] {
    for (std::uint64_t tag = 0; tag < kMessages; ++tag) {
      while (!ranks_.endpoint(1)
                  .post_receive(0, tag, targets[tag],
                                {.completion = &on_received, .handle = &handles[tag], .timeout = kFar})
                  .is_accepted())
        std::this_thread::yield();
      if (tag % 4 == 0) std::this_thread::sleep_for(100us);
    }
  });
  threads[2].join();
  threads[3].join();
  EXPECT_TRUE(test::until(
      [&] { return sent.load() + timed_out.load() == kMessages && received.load() == sent.load(); },
      [] { std::this_thread::yield(); }));
  for (const ReceiveHandle& handle : handles) static_cast<void>(ranks_.endpoint(1).cancel(handle));
  is_over.store(true);
  threads[0].join();
  threads[1].join();
  EXPECT_EQ(sent.load() + timed_out.load(), kMessages);
  EXPECT_EQ(received.load(), sent.load());
}

}  // namespace
}  // namespace weft
