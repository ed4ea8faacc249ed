// Packets that a program keeps as plain pointers are found by their address.
#include <weft/testing/in_process_job.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weft {
namespace {

using test::matches;
using test::Ranks;

TEST(PacketAddress, gives_the_packet_back) {
  InProcessJob job(1);
  const AttributeSetting attributes[] = {{"packets", "64"}, {"packet_size", "2K"}};
  Runtime runtime(job, 0, {.attributes = attributes});
  Device device(runtime);
  for (int round = 0; round < 5; ++round) {
    std::set<std::byte*> addresses;
    while (Packet packet = device.get_packet()) {
      addresses.insert(packet.data());
      packet.release();
    }
    EXPECT_EQ(addresses.size(), 64U);
    for (std::byte* address : addresses) {
      Packet packet = runtime.packet_of(address);
      ASSERT_TRUE(packet);
      EXPECT_EQ(packet.data(), address);
      EXPECT_EQ(packet.capacity(), 2048U);
    }
  }
}

TEST(PacketAddress, of_something_else_gives_none) {
  InProcessJob job(1);
  Runtime runtime(job, 0);
  Runtime other(job, 0);
  Device device(runtime);
  Packet packet = device.get_packet();
  ASSERT_TRUE(packet);
  int local = 0;
  EXPECT_FALSE(runtime.packet_of(nullptr));
  EXPECT_FALSE(runtime.packet_of(&local));
  EXPECT_FALSE(runtime.packet_of(packet.data() + 1));
  EXPECT_FALSE(runtime.packet_of(packet.data() + packet.capacity() - 1));
  EXPECT_FALSE(other.packet_of(packet.data()));
  EXPECT_FALSE(runtime.packet_of(reinterpret_cast<const void*>(~std::uintptr_t{0})));
}

TEST(PacketAddress, posts_what_was_assembled_there) {
  Ranks ranks(2, {{"packets", "64"}});
  Device packets(ranks.runtime(0));
  CompletionQueue queue;
  const RemoteCompletion remote = ranks.runtime(1).expose(queue, {.id = 3});
  ASSERT_TRUE(ranks.meet());
  for (std::uint64_t round = 0; round < 300; ++round) {
    Packet assembled;
    ASSERT_TRUE(ranks.progress_until([&] {
      assembled = packets.get_packet();
      return static_cast<bool>(assembled);
    }));
    test::fill(assembled.bytes().first(3000), round);
    std::byte* const address = assembled.data();
    assembled.release();
    Packet packet = ranks.runtime(0).packet_of(address);
    ASSERT_TRUE(ranks.progress_until(
        [&] { return ranks.endpoint(0).post_am(1, remote, std::move(packet), 3000).is_accepted(); }));
    Message message;
    ASSERT_TRUE(ranks.progress_until([&] { return queue.pop(message); }));
    EXPECT_TRUE(matches(message.bytes(), round));
  }
}

TEST(PacketAddress, of_payloads_that_lie_in_an_own_packet_gives_it) {
  Ranks ranks(2, {{"packets", "64"}});
  std::vector<Payload> payloads;
  Handler handler([&](Message& message) { payloads.push_back(message.release()); });
  const RemoteCompletion remote = ranks.runtime(1).expose(handler, {.id = 3});
  ASSERT_TRUE(ranks.meet());
  const std::vector<std::byte> bytes = test::payload(3000, 1);
  for (int round = 0; round < 500; ++round) {
    ASSERT_TRUE(ranks.post(0, 1, remote, bytes).has_value());
    ASSERT_TRUE(ranks.progress_until([&] { return !payloads.empty(); }));
    EXPECT_TRUE(matches(payloads.back().bytes(), 1));
    // By whichever way is the payload's: either gives back all that there was.
    const Packet packet = ranks.runtime(1).packet_of(payloads.back().data);
    if (!packet) payloads.back().free();
    payloads.pop_back();
  }
}

}  // namespace
}  // namespace weft
