// Messages tell by which handle and at which device they have come, and operations where they have ended.
#include <weft/testing/in_process_job.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::matches;
using test::payload;
using test::until;

/// Two ranks with two devices each.
struct Pair {
  InProcessJob job{2};
  Runtime first{job, 0};
  Runtime second{job, 1};
  Device first_devices[2] = {Device(first, {.index = 0}), Device(first, {.index = 5})};
  Device second_devices[2] = {Device(second, {.index = 0}), Device(second, {.index = 7})};
  Endpoint from[2] = {Endpoint(first_devices[0]), Endpoint(first_devices[1])};
  Endpoint to[2] = {Endpoint(second_devices[0]), Endpoint(second_devices[1])};
  void progress() {
    for (Endpoint& endpoint : from) endpoint.progress();
    for (Endpoint& endpoint : to) endpoint.progress();
  }
  template <class Condition>
  [[nodiscard]] bool until(const Condition& condition) {
    return test::until(condition, [this] { progress(); });
  }
  template <class Post>
  [[nodiscard]] bool post(const Post& attempt) {
    return until([&] { return attempt().is_accepted(); });
  }
};

class Origin : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(bytes, Origin, testing::Values(0, 8, 44, 45, 48, 49, 700, 5000, 100'000));

TEST_P(Origin, of_active_messages_is_their_handle_and_device) {
  Pair pair;
  CompletionQueue queue;
  std::vector<RemoteCompletion> seen;
  Handler handler([&](Message& message) { seen.push_back(message.remote()); });
  const RemoteCompletion one = pair.second.expose(queue, {.id = 40});
  const RemoteCompletion other = pair.second.expose(queue, {.id = 41, .device = 7});
  const RemoteCompletion handled = pair.second.expose(handler, {.id = 42, .device = 7});
  const std::vector<std::byte> bytes = payload(GetParam(), 1);
  std::vector<RemoteCompletion> sent;
  for (int round = 0; round < 4; ++round)
    for (const RemoteCompletion remote : {one, other, one.on_device(7), other.on_device(0)}) {
      ASSERT_TRUE(pair.post([&] { return pair.from[0].post_am(1, remote, bytes, {.tag = 9}); }));
      Message message;
      ASSERT_TRUE(pair.until([&] { return queue.pop(message); }));
      EXPECT_EQ(message.remote(), remote);
      EXPECT_EQ(message.device(), remote.device());
      EXPECT_EQ(message.tag(), 9U);
      EXPECT_EQ(message.user_data(), nullptr);
      EXPECT_TRUE(matches(message.bytes(), 1));
    }
  // Several that come together.
  for (int count = 0; count < 6; ++count)
    ASSERT_TRUE(pair.post([&] { return pair.from[0].post_am(1, handled, bytes); }));
  ASSERT_TRUE(pair.until([&] { return seen.size() == 6; }));
  for (const RemoteCompletion remote : seen) EXPECT_EQ(remote, handled);
}

TEST_P(Origin, of_an_ended_operation_is_its_device) {
  Pair pair;
  CompletionQueue sent;
  CompletionQueue received;
  const std::vector<std::byte> bytes = payload(GetParam(), 2);
  std::vector<std::byte> buffer(GetParam() + 1);
  for (const bool is_unexpected : {false, true}) {
    const auto send = [&] {
      ASSERT_TRUE(
          pair.post([&] { return pair.from[1].post_send(1, 3, bytes, {.completion = &sent, .device = 7}); }));
      if (is_unexpected)
        for (int round = 0; round < 2000; ++round) pair.to[1].progress();
    };
    const auto receive = [&] {
      ASSERT_TRUE(pair.post([&] {
        return pair.to[1].post_receive(0, 3, buffer, {.completion = &received, .user_data = &pair});
      }));
    };
    if (is_unexpected) {
      send();
      receive();
    } else {
      receive();
      send();
    }
    Message message;
    ASSERT_TRUE(pair.until([&] { return received.pop(message); }));
    EXPECT_EQ(message.device(), 7U);
    EXPECT_EQ(message.remote(), RemoteCompletion());
    EXPECT_EQ(message.mutable_data(), buffer.data()) << "the program's own";
    EXPECT_EQ(message.mutable_bytes().size(), GetParam());
    EXPECT_EQ(message.length(), GetParam());
    ASSERT_TRUE(pair.until([&] { return sent.pop(message); }));
    EXPECT_EQ(message.device(), 5U);
    EXPECT_EQ(message.mutable_data(), nullptr);
  }
}

TEST_P(Origin, of_a_signal_is_its_handle) {
  if (GetParam() == 0) GTEST_SKIP() << "regions are not empty";
  Pair pair;
  CompletionQueue signals;
  CompletionQueue ended;
  const RemoteCompletion handle = pair.second.expose(signals, {.id = 50, .device = 7});
  std::vector<std::byte> memory(GetParam());
  MemoryRegion region(pair.second, memory);
  const std::vector<std::byte> bytes = payload(GetParam(), 3);
  ASSERT_TRUE(pair.post([&] {
    return pair.from[1].post_put(1, region.remote().at(0), bytes,
                                 {.completion = &ended, .signal = handle, .tag = 4, .device = 7});
  }));
  Message message;
  ASSERT_TRUE(pair.until([&] { return signals.pop(message); }));
  EXPECT_EQ(message.operation(), Operation::put_arrived);
  EXPECT_EQ(message.remote(), handle);
  EXPECT_EQ(message.device(), 7U);
  EXPECT_EQ(message.tag(), 4U);
  ASSERT_TRUE(pair.until([&] { return ended.pop(message); }));
  EXPECT_EQ(message.device(), 5U);
  std::vector<std::byte> copy(GetParam());
  ASSERT_TRUE(pair.post([&] {
    return pair.from[1].post_get(1, region.remote().at(0), copy, {.completion = &ended, .device = 7});
  }));
  ASSERT_TRUE(pair.until([&] { return ended.pop(message); }));
  EXPECT_EQ(message.device(), 5U);
  EXPECT_EQ(message.mutable_data(), copy.data());
}

TEST_P(Origin, is_lost_by_no_payload_that_leaves_its_message) {
  Pair pair;
  std::vector<Payload> payloads;
  Handler handler([&](Message& message) { payloads.push_back(message.release()); });
  CompletionQueue queue;
  const RemoteCompletion handled = pair.second.expose(handler, {.id = 60});
  const RemoteCompletion queued = pair.second.expose(queue, {.id = 61});
  for (std::uint64_t round = 0; round < 200; ++round) {
    const std::vector<std::byte> bytes = payload(GetParam(), round);
    ASSERT_TRUE(pair.post([&] { return pair.from[0].post_am(1, handled, bytes); }));
    ASSERT_TRUE(pair.until([&] { return !payloads.empty(); }));
    EXPECT_TRUE(matches(payloads.back().bytes(), round));
    payloads.back().free();
    payloads.pop_back();
    ASSERT_TRUE(pair.post([&] { return pair.from[0].post_am(1, queued, bytes); }));
    Message message;
    ASSERT_TRUE(pair.until([&] { return queue.pop(message); }));
    const Payload kept = message.release();
    EXPECT_EQ(message.remote(), queued);
    EXPECT_TRUE(matches(kept.bytes(), round));
    kept.free();
  }
  // All packets have come back, many times over.
  std::vector<Packet> packets;
  while (Packet packet = pair.first_devices[0].get_packet()) packets.push_back(std::move(packet));
  EXPECT_GT(packets.size(), 100U);
}

}  // namespace
}  // namespace weft
