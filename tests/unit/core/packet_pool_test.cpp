// Payloads that messages keep in packets: each of these packets comes back.
#include "core/packet/packet_pool.hpp"
#include "support/packet_network.hpp"
#include "support/ranks.hpp"

#include <weft/packet.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace weft::core {
namespace {

constexpr std::uint32_t kPackets = 64;

struct Kept {
  PayloadOwner* owner = nullptr;
  const std::byte* data = nullptr;
  std::uint64_t cookie = 0;
};

class KeptPackets : public testing::Test {
 protected:
  KeptPackets() { pool_.attach(network_); }
  Kept keep() {
    Kept kept{.data = payload_.data()};
    kept.owner = pool_.keep(kept.data, payload_.size(), kept.cookie);
    return kept;
  }
  void release(const Kept& kept) {
    kept.owner->release(const_cast<std::byte*>(kept.data), payload_.size(), kept.cookie);
  }
  /// How many different packets the pool gives.
  std::size_t in_pool() {
    std::vector<Packet> packets;
    std::set<std::uint32_t> indices;
    while (Packet packet = pool_.get()) {
      indices.insert(packet.index());
      packets.push_back(std::move(packet));
    }
    EXPECT_EQ(indices.size(), packets.size()) << "one packet twice";
    return indices.size();
  }
  test::PacketNetwork network_{kPackets};
  PacketPool pool_{4};
  const std::vector<std::byte> payload_ = test::payload(60, 1);
};

TEST_F(KeptPackets, come_back_whichever_they_are) {
  std::set<std::uint64_t> used;
  std::vector<Packet> others;  // so that every packet is kept once
  for (std::uint32_t first = 0; first < kPackets; ++first) {
    const Kept kept = keep();
    ASSERT_NE(kept.owner, nullptr) << "after " << first;
    EXPECT_TRUE(test::matches({kept.data, payload_.size()}, 1));
    used.insert(kept.cookie);
    EXPECT_EQ(pool_.kept(), 1U);
    release(kept);
    EXPECT_EQ(pool_.kept(), 0U);
    others.push_back(pool_.get());
    ASSERT_TRUE(static_cast<bool>(others.back())) << "after " << first;
  }
  EXPECT_EQ(used.size(), kPackets);
  others.clear();
  EXPECT_EQ(in_pool(), kPackets);
}

TEST_F(KeptPackets, are_a_quarter_of_the_pool_at_most_and_all_come_back) {
  for (int round = 0; round < 3; ++round) {
    std::vector<Kept> all;
    for (Kept kept = keep(); kept.owner != nullptr; kept = keep()) all.push_back(kept);
    EXPECT_EQ(all.size(), kPackets / 4);
    EXPECT_EQ(in_pool(), kPackets - kPackets / 4);
    for (const Kept& kept : all) {
      EXPECT_TRUE(test::matches({kept.data, payload_.size()}, 1));
      release(kept);
    }
    EXPECT_EQ(in_pool(), kPackets) << "round " << round;
  }
}

TEST_F(KeptPackets, that_the_program_takes_over_come_back_as_its_packets) {
  const Kept kept = keep();
  ASSERT_NE(kept.owner, nullptr);
  EXPECT_FALSE(static_cast<bool>(pool_.packet_of(kept.data + 1))) << "no packet begins there";
  {
    const Packet taken = pool_.packet_of(kept.data);
    ASSERT_TRUE(static_cast<bool>(taken));
    EXPECT_EQ(pool_.kept(), 0U);
    EXPECT_EQ(in_pool(), kPackets - 1);
  }
  EXPECT_EQ(in_pool(), kPackets);
}

TEST_F(KeptPackets, hold_no_payload_that_is_longer_than_a_packet) {
  const std::vector<std::byte> longer(65);
  const std::byte* data = longer.data();
  std::uint64_t cookie = 0;
  EXPECT_EQ(pool_.keep(data, longer.size(), cookie), nullptr);
  EXPECT_EQ(data, longer.data());
  EXPECT_EQ(pool_.kept(), 0U);
  EXPECT_EQ(in_pool(), kPackets);
}

}  // namespace
}  // namespace weft::core
