// The memory of packets: where each lies, and which have come back.
#include "network/session/packets/packet_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <vector>

namespace weft::network::session {
namespace {

TEST(PacketMemory, has_packets_on_lines_of_their_own_with_room_in_front) {
  for (const std::size_t payload : {std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{1016}}) {
    const PacketMemory memory("test", 5, payload);
    EXPECT_FALSE(memory.is_foreign());
    const Network::PacketMemory layout = memory.layout();
    EXPECT_EQ(layout.count, 5U);
    EXPECT_EQ(layout.payload, payload);
    EXPECT_EQ(layout.stride, 64 + (payload + 63) / 64 * 64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(layout.base) % 64, 0U);
    const auto whole = memory.whole();
    EXPECT_EQ(whole.size(), 5 * layout.stride);
    EXPECT_EQ(memory.payload(0) - whole.data(), 64);
    EXPECT_EQ(memory.payload(4) - memory.payload(0), static_cast<std::ptrdiff_t>(4 * layout.stride));
    EXPECT_LE(memory.payload(4) + payload, whole.data() + whole.size());
    std::fill(whole.begin(), whole.end(), std::byte{1});
  }
}

TEST(PacketMemory, of_another_network_is_taken_as_it_is) {
  std::array<std::byte, 300> others{};
  const Network::PacketMemory layout{others.data(), 100, 3, 90};
  const PacketMemory memory("test", 7, 95, layout);
  EXPECT_TRUE(memory.is_foreign());
  EXPECT_EQ(memory.layout().base, others.data());
  EXPECT_EQ(memory.layout().stride, 100U);
  EXPECT_EQ(memory.layout().count, 3U);
  EXPECT_EQ(memory.layout().payload, 90U) << "the shorter of both";
  EXPECT_EQ(memory.whole().data(), others.data());
  EXPECT_EQ(memory.whole().size(), 290U) << "and nothing behind the last payload";
  EXPECT_EQ(PacketMemory("test", 7, 80, layout).layout().payload, 80U);
}

TEST(PacketMemory, gives_back_every_packet_once) {
  PacketMemory memory("test", 8, 64);
  for (std::uint32_t packet = 0; packet < 8; ++packet) memory.release(packet);
  std::set<std::uint32_t> known;
  std::array<std::uint32_t, 3> some{};
  for (const std::size_t expected : {3U, 3U, 2U, 0U}) {
    const std::size_t count = memory.reclaim(some);
    EXPECT_EQ(count, expected);
    for (std::size_t place = 0; place < count; ++place) EXPECT_TRUE(known.insert(some[place]).second);
  }
  EXPECT_EQ(known.size(), 8U);
  EXPECT_EQ(*known.rbegin(), 7U);
}

}  // namespace
}  // namespace weft::network::session
