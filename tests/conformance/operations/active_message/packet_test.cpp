// Packets that users fill, messages that users keep, buffers that users supply.
#include <weft/testing/in_process_job.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>

namespace weft {
namespace {

using test::matches;
using test::payload;
using test::Ranks;

TEST(Packets, are_bounded_and_come_back) {
  InProcessJob job(1);
  for (const char* magazine : {"1", "2", "32", "64"}) {
    const AttributeSetting attributes[] = {
        {"packets", "256"}, {"packet_magazine", magazine}, {"packet_size", "2K"}};
    Runtime runtime(job, 0, {.attributes = attributes});
    Device device(runtime);
    for (int round = 0; round < 3; ++round) {
      std::vector<Packet> packets;
      std::map<std::uint32_t, int> seen;
      while (Packet packet = device.get_packet()) {
        EXPECT_EQ(packet.capacity(), 2048U);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packet.data()) % 16, 0U);
        EXPECT_EQ(seen[packet.index()]++, 0) << "packet " << packet.index() << " was given out twice";
        test::fill(packet.bytes(), packet.index());
        packets.push_back(std::move(packet));
        ASSERT_LE(packets.size(), 256U);
      }
      EXPECT_EQ(packets.size(), 256U);
      for (const Packet& packet : packets) EXPECT_TRUE(matches(packet.bytes(), packet.index()));
    }
  }
}

TEST(Packets, that_one_thread_takes_may_be_given_back_by_another) {
  InProcessJob job(1);
  const AttributeSetting attributes[] = {{"packets", "64"}, {"packet_magazine", "4"}};
  Runtime runtime(job, 0, {.attributes = attributes});
  Device device(runtime);
  for (int round = 0; round < 20; ++round) {
    std::vector<Packet> packets;
    while (Packet packet = device.get_packet()) packets.push_back(std::move(packet));
    ASSERT_EQ(packets.size(), 64U) << "some are out of reach";
    std::thread([&] { packets.clear(); }).join();
  }
}

class AssembledInPlace : public testing::TestWithParam<std::size_t> {
 protected:
  /// Networks may have shorter packets than the attribute packet_size allows.
  template <class RanksType>
  [[nodiscard]] static std::size_t size_in(RanksType& ranks) {
    return std::min(GetParam(), ranks.endpoint(0).attributes().packet_bytes);
  }
};
INSTANTIATE_TEST_SUITE_P(bytes, AssembledInPlace,
                         testing::Values(0, 1, 8, 20, 48, 49, 400, 1000, 4000, 8192));

TEST_P(AssembledInPlace, messages_arrive_whole) {
  Ranks<Endpoint> ranks(2, {{"packets", "32"}});
  const std::size_t size = size_in(ranks);
  Device device(ranks.runtime(0));
  std::uint64_t arrived = 0;
  Handler handler([&](Message& message) {
    EXPECT_EQ(message.size(), size);
    EXPECT_TRUE(matches(message.bytes(), message.tag()));
    ++arrived;
  });
  const RemoteCompletion remote = ranks.runtime(1).expose(handler, {.id = 1});
  Counter sent;
  for (std::uint32_t count = 0; count < 500; ++count) {
    Packet packet;
    ASSERT_TRUE(ranks.progress_until([&] { return static_cast<bool>(packet = device.get_packet()); }))
        << "packets leak";
    test::fill(packet.bytes().first(size), count);
    ASSERT_TRUE(ranks.progress_until([&] {
      const Status status =
          ranks.endpoint(0).post_am(1, remote, std::move(packet), size, {.completion = &sent, .tag = count});
      EXPECT_EQ(static_cast<bool>(packet), status.is_retry())
          << "retry leaves the packet with its owner, and only retry";
      return status.is_accepted();
    }));
  }
  ASSERT_TRUE(ranks.progress_until([&] { return arrived == 500 && sent.value() == 500; }));
}

TEST_P(AssembledInPlace, messages_stay_whole_in_the_backlog) {
  Ranks<Endpoint> ranks(2, {{"lane_slots", "64"}, {"lane_slots_max", "64"}});
  const std::size_t size = size_in(ranks);
  Device device(ranks.runtime(0));
  std::uint64_t arrived = 0;
  Handler handler([&](Message& message) {
    EXPECT_EQ(message.size(), size);
    EXPECT_TRUE(matches(message.bytes(), message.tag())) << "message " << message.tag();
    ++arrived;
  });
  const RemoteCompletion remote = ranks.runtime(1).expose(handler, {.id = 1});
  Counter sent;
  std::uint32_t accepted = 0;
  for (; accepted < 10'000; ++accepted) {
    Packet packet = device.get_packet();
    if (!packet) break;
    test::fill(packet.bytes().first(size), accepted);
    if (ranks.endpoint(0)
            .post_am(1, remote, std::move(packet), size,
                     {.completion = &sent, .tag = accepted, .may_retry = false})
            .is_retry())
      break;
    // Whoever gets the packet next writes into it.
    if (Packet next = device.get_packet()) test::fill(next.bytes(), 987'654);
  }
  EXPECT_GT(accepted, 63U);
  ASSERT_TRUE(ranks.progress_until([&] { return arrived == accepted && sent.value() == accepted; }))
      << arrived << " of " << accepted;
}

TEST(Packets, to_oneself_and_back_are_not_lost) {
  Ranks<SerialEndpoint> ranks(1, {{"packets", "16"}, {"packet_magazine", "1"}});
  CompletionQueue queue;
  const RemoteCompletion remote = ranks.runtime(0).expose(queue, {.id = 1});
  const auto bytes = payload(3000, 4);
  for (int count = 0; count < 2000; ++count) {
    ASSERT_TRUE(ranks.post(0, 0, remote, bytes).has_value());
    Message message;
    ASSERT_TRUE(ranks.progress_until([&] { return queue.pop(message); }));
    EXPECT_TRUE(matches(message.bytes(), 4));
  }
}

TEST(Taken, messages_outlive_their_delivery_and_no_packet_is_lost) {
  for (const char* held : {"1", "64"}) {
    Ranks<Endpoint> ranks(2, {{"packets", "64"}, {"held_packets", held}});
    const std::size_t sizes[] = {0, 8, 48, 49, 400, 433, 2000, 8192, 8193, 30'000};
    std::vector<Message> kept;
    std::size_t arrived = 0;
    Handler handler([&](Message& message) {
      ++arrived;
      if (message.tag() % 3 == 0) return;  // not kept
      kept.push_back(message.take());
      EXPECT_TRUE(kept.back().is_owner());
    });
    const RemoteCompletion remote = ranks.runtime(1).expose(handler, {.id = 1});
    for (std::uint32_t round = 0; round < 100; ++round) {
      Counter sent;
      std::uint64_t posted = 0;
      for (const std::size_t size : sizes) {
        const auto bytes = payload(size, size + round);
        ASSERT_TRUE(ranks.post(0, 1, remote, bytes, {.completion = &sent, .tag = round}).has_value())
            << "round " << round << ": packets are lost";
        ++posted;
        ASSERT_TRUE(ranks.progress_until([&] { return sent.value() == posted; }));
      }
      ASSERT_TRUE(ranks.progress_until([&] { return arrived == (round + 1) * std::size(sizes); }));
      EXPECT_EQ(kept.size(), round % 3 != 0 ? std::size(sizes) : 0);
      for (Message& message : kept) EXPECT_TRUE(matches(message.bytes(), message.size() + message.tag()));
      kept.clear();
    }
  }
}

TEST(Taken, messages_that_are_never_given_up_leave_packets_for_others) {
  Ranks<Endpoint> ranks(2, {{"packets", "64"}});
  test::Recorder keeper;
  Counter other;
  Counter arrived_back;
  const RemoteCompletion kept = ranks.runtime(1).expose(keeper, {.id = 1});
  const RemoteCompletion counted = ranks.runtime(1).expose(other, {.id = 2});
  const RemoteCompletion back = ranks.runtime(0).expose(arrived_back, {.id = 3});
  const auto bytes = payload(3000, 1);
  for (std::uint64_t count = 1; count <= 300; ++count) {
    ASSERT_TRUE(ranks.post(0, 1, kept, bytes).has_value()) << "message " << count;
    ASSERT_TRUE(ranks.progress_until([&] { return keeper.messages.size() == count; }));
  }
  ASSERT_TRUE(ranks.post(0, 1, counted, bytes).has_value()) << "the sender has no packet for others";
  ASSERT_TRUE(ranks.post(1, 0, back, bytes).has_value()) << "the keeper has no packet to send";
  ASSERT_TRUE(ranks.progress_until([&] { return other.value() == 1 && arrived_back.value() == 1; }));
  for (const Message& message : keeper.messages) EXPECT_TRUE(matches(message.bytes(), 1));
  keeper.messages.clear();
}

/// Lends buffers of its own, and refuses the first requests.
class Arena final : public PayloadOwner {
 public:
  std::byte* allocate(std::size_t size) noexcept override {
    if (refusals.fetch_sub(1) > 0) return nullptr;
    ++lent;
    requested = size;
    return static_cast<std::byte*>(std::aligned_alloc(64, (size + 63) / 64 * 64));
  }
  void release(std::byte* data, std::size_t size, std::uint64_t) noexcept override {
    EXPECT_EQ(size, requested);
    --lent;
    std::free(data);
  }
  std::atomic<int> refusals{0};
  std::atomic<int> lent{0};
  std::atomic<std::size_t> requested{0};
};

class Allocators : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(rendezvous, Allocators, testing::Values("read", "copy"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST_P(Allocators, supply_the_buffers_of_large_messages) {
  Ranks<Endpoint> ranks(2, {{"rendezvous", GetParam()}});
  Arena arena;
  std::vector<Message> kept;
  int arrived = 0;
  Handler handler([&](Message& message) {
    ++arrived;
    EXPECT_EQ(arena.lent, 1);
    EXPECT_TRUE(message.is_owner());
    EXPECT_NE(message.mutable_data(), nullptr);
    EXPECT_TRUE(matches(message.bytes(), 2));
    if (message.tag() == 1) kept.push_back(message.take());
  });
  handler.set_allocator(arena);
  const RemoteCompletion remote = ranks.runtime(1).expose(handler, {.id = 1});
  const auto bytes = payload(200'001, 2);
  for (const std::uint32_t tag : {0U, 1U}) {
    for (const int refusals : {0, 5}) {
      arena.refusals = refusals;
      Counter sent;
      ASSERT_TRUE(ranks.post(0, 1, remote, bytes, {.completion = &sent, .tag = tag}).has_value());
      arrived = 0;
      ASSERT_TRUE(ranks.progress_until([&] { return sent.value() == 1 && arrived == 1; }));
      EXPECT_EQ(arena.requested, bytes.size());
      EXPECT_EQ(arena.lent, tag == 1 ? 1 : 0);
      for (const Message& message : kept) EXPECT_TRUE(matches(message.bytes(), 2));
      kept.clear();
      EXPECT_EQ(arena.lent, 0);
    }
  }
}

TEST_P(Allocators, without_room_do_not_delay_other_messages) {
  Ranks<Endpoint> ranks(2, {{"rendezvous", GetParam()}});
  Arena arena;
  arena.refusals = 1'000'000'000;
  Counter blocked;
  blocked.set_allocator(arena);
  Counter open;
  const RemoteCompletion to_blocked = ranks.runtime(1).expose(blocked, {.id = 1});
  const RemoteCompletion to_open = ranks.runtime(1).expose(open, {.id = 2});
  const auto bytes = payload(50'000, 1);
  Counter sent;
  for (int count = 0; count < 20; ++count)
    ASSERT_TRUE(ranks.post(0, 1, to_blocked, bytes, {.completion = &sent}).has_value());
  Counter others;
  for (const std::size_t size : {std::size_t{8}, std::size_t{3000}, std::size_t{50'000}})
    ASSERT_TRUE(ranks.post(0, 1, to_open, Bytes(bytes).first(size), {.completion = &others}).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return open.value() == 3 && others.value() == 3; }));
  EXPECT_EQ(blocked.value(), 0U);
  arena.refusals = 0;
  ASSERT_TRUE(ranks.progress_until([&] { return blocked.value() == 20 && sent.value() == 20; }));
  EXPECT_EQ(arena.lent, 0);
}

TEST_P(Allocators, get_back_what_a_runtime_that_ends_has_not_delivered) {
  Arena arena;
  {
    InProcessJob job(2);
    const AttributeSetting attributes[] = {
        {"rendezvous", GetParam()}, {"drain_timeout", "0.05"}, {"log", "error"}};
    auto zero = std::make_unique<Runtime>(job, 0, RuntimeOptions{.attributes = attributes});
    auto one = std::make_unique<Runtime>(job, 1, RuntimeOptions{.attributes = attributes});
    Counter target;
    target.set_allocator(arena);
    Counter sent;
    const RemoteCompletion remote = one->expose(target, {.id = 1});
    const auto bytes = payload(std::size_t{8} << 20, 1);
    {
      Endpoint sender(*zero);
      Endpoint receiver(*one);
      ASSERT_TRUE(
          test::until([&] { return sender.post_am(1, remote, bytes, {.completion = &sent}).is_accepted(); },
                      [&] { receiver.progress(); }));
      ASSERT_TRUE(test::until([&] { return arena.lent == 1; }, [&] { receiver.progress(); }));
    }
    one.reset();
    zero.reset();
  }
  EXPECT_EQ(arena.lent, 0);
}

TEST(Packets, are_had_from_the_runtime_before_there_is_a_device) {
  InProcessJob job(1);
  Runtime runtime(job, 0);
  Packet packet = runtime.get_packet();
  ASSERT_TRUE(packet);
  EXPECT_GE(packet.capacity(), 1000U);
  test::fill(packet.bytes().first(1000), 5);
  Endpoint endpoint(runtime);
  CompletionQueue queue;
  const RemoteCompletion remote = runtime.expose(queue, {.id = 1});
  ASSERT_TRUE(test::until(
      [&] { return !packet || endpoint.post_am(0, remote, std::move(packet), 1000).is_accepted(); },
      [&] { endpoint.progress(); }));
  Message message;
  ASSERT_TRUE(test::until([&] { return queue.pop(message); }, [&] { endpoint.progress(); }));
  EXPECT_TRUE(matches(message.bytes(), 5));
}

}  // namespace
}  // namespace weft
