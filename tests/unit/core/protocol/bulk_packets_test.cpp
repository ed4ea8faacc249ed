#include "core/packet/bulk_packets.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weft::core {
namespace {

class Pool final : public detail::PacketSource {
 public:
  void put_packet(std::uint32_t index) noexcept override { put.push_back(index); }
  std::vector<std::uint32_t> put;
};

TEST(BulkPackets, admits_messages_to_three_quarters_and_chunks_to_all_of_the_share) {
  Pool pool;
  BulkPackets bulk(pool);
  bulk.set_up(64, 8);
  for (int count = 0; count < 6; ++count) EXPECT_TRUE(bulk.admit(BulkPackets::Use::message));
  EXPECT_FALSE(bulk.admit(BulkPackets::Use::message));
  for (int count = 0; count < 2; ++count) EXPECT_TRUE(bulk.admit(BulkPackets::Use::fragment));
  EXPECT_FALSE(bulk.admit(BulkPackets::Use::fragment));
  EXPECT_EQ(bulk.in_use(), 8U);
  bulk.dismiss();
  EXPECT_FALSE(bulk.admit(BulkPackets::Use::message)) << "fragments count as well";
  EXPECT_TRUE(bulk.admit(BulkPackets::Use::fragment));
}

TEST(BulkPackets, counts_packets_until_they_come_back_by_either_way_and_once) {
  Pool pool;
  BulkPackets bulk(pool);
  bulk.set_up(64, 8);
  for (const std::uint32_t index : {5U, 6U}) {
    ASSERT_TRUE(bulk.admit(BulkPackets::Use::message));
    bulk.mark(index);
  }
  EXPECT_TRUE(bulk.any());
  bulk.came_back(7);  // of another class
  EXPECT_EQ(bulk.in_use(), 2U);
  bulk.came_back(5);
  bulk.came_back(5);  // the next time it was another class's
  EXPECT_EQ(bulk.in_use(), 1U);
  { const Packet unsent(nullptr, 0, 6, &bulk); }
  EXPECT_EQ(pool.put, (std::vector<std::uint32_t>{6}));
  EXPECT_FALSE(bulk.any());
}

TEST(BulkPackets, is_never_exceeded_by_several_threads) {
  Pool pool;
  BulkPackets bulk(pool);
  constexpr std::uint32_t kShare = 8;
  bulk.set_up(64, kShare);
  std::atomic<std::uint32_t> inside{0};
  std::atomic<std::uint32_t> most{0};
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 5000; ++round) {
        std::uint32_t admitted = 0;
        for (; admitted < 4 && bulk.admit(BulkPackets::Use::fragment); ++admitted) {
          const std::uint32_t now = inside.fetch_add(1) + 1;
          for (std::uint32_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          bulk.mark(thread * 4 + admitted);
        }
        while (admitted-- > 0) {
          inside.fetch_sub(1);
          bulk.came_back(thread * 4 + admitted);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most.load(), kShare);
  EXPECT_EQ(bulk.in_use(), 0U);
}

}  // namespace
}  // namespace weft::core
