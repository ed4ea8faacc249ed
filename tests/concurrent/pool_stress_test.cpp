// Pools of packets and of records under real threads that come, use, idle and end.
#include "core/matching/table/record_pool.hpp"
#include "core/memory/indexed_records.hpp"
#include "core/packet/packet_pool.hpp"
#include "support/packet_network.hpp"

#include <weft/packet.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace weft {
namespace {

constexpr int kPoolThreads = 4;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kPoolRounds = 3'000;
#else
constexpr int kPoolRounds = 30'000;
#endif

template <class Part>
void in_threads(int count, const Part& part) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < count; ++thread) threads.emplace_back([&, thread] { part(thread); });
  for (std::thread& thread : threads) thread.join();
}

TEST(IndexedRecordsStress, shows_only_whole_records_while_others_make_them) {
  struct Record {
    std::uint32_t index = 0;
    int uses = 0;  // plain: a second owner is a race
    std::atomic<int> mark{7};
  };
  constexpr std::uint32_t kCapacity = 4096;
  core::IndexedRecords<Record> records(kCapacity, "a test");
  std::atomic<int> holding{kPoolThreads};
  in_threads(kPoolThreads + 1, [&](int thread) {
    if (thread == kPoolThreads) {
      while (holding != 0)
        for (const Record& record : records) ASSERT_EQ(record.mark, 7);
      return;
    }
    std::vector<Record*> held;
    for (std::uint32_t count = 0; count < kCapacity / kPoolThreads; ++count) {
      Record* const record = records.take();
      ASSERT_NE(record, nullptr);
      ++record->uses;
      held.push_back(record);
      ASSERT_EQ(records.find(record->index), record);
      if (count % 3 == 0) {
        records.put(*held.front());
        held.erase(held.begin());
      }
    }
    for (Record* const record : held) records.put(*record);
    --holding;
  });
  int uses = 0;
  for (const Record& record : records) uses += record.uses;
  EXPECT_EQ(uses, static_cast<int>(kCapacity));
}

TEST(PacketPoolStress, gives_each_packet_to_one_owner_while_there_are_too_few) {
  constexpr std::uint32_t kPackets = 16;
  for (const std::uint32_t magazine : {1U, 4U, 16U}) {
    test::PacketNetwork network(kPackets);
    core::PacketPool pool(magazine);
    pool.attach(network);
    std::vector<int> uses(kPackets);  // plain: a second owner is a race
    std::atomic<int> all{0};
    in_threads(kPoolThreads, [&](int thread) {
      std::vector<Packet> packets;
      for (int round = 0; round < kPoolRounds; ++round) {
        const int wanted = (round + thread) % 8;  // of all threads together more than there are
        while (static_cast<int>(packets.size()) < wanted) {
          Packet packet = pool.get();
          if (!packet) break;
          ++uses[packet.index()];
          ++all;
          packets.push_back(std::move(packet));
        }
        packets.clear();
      }
    });
    int sum = 0;
    for (const int each : uses) sum += each;
    EXPECT_EQ(sum, all);
    std::vector<Packet> packets;
    std::set<std::uint32_t> seen;
    while (Packet packet = pool.get()) {
      EXPECT_TRUE(seen.insert(packet.index()).second);
      packets.push_back(std::move(packet));
      ASSERT_LE(packets.size(), kPackets);
    }
    EXPECT_EQ(seen.size(), kPackets) << "none is lost, and none is out of reach";
  }
}

TEST(RecordPoolStress, finds_a_record_for_each_of_as_many_uses_as_the_limit) {
  struct Record : core::PooledRecord {
    int uses = 0;
  };
  constexpr std::uint32_t kOfEach = 16;
  core::RecordPool<Record> pool(kPoolThreads * kOfEach, false);
  std::atomic<int> refused{0};
  std::atomic<int> all{0};
  in_threads(kPoolThreads, [&](int thread) {
    std::vector<Record*> records;
    for (int round = 0; round < kPoolRounds / 10; ++round) {
      for (std::uint32_t count = 0; count < kOfEach; ++count) {
        Record* const record = pool.take();
        if (record == nullptr) {
          ++refused;
          continue;
        }
        ++record->uses;
        ++all;
        records.push_back(record);
      }
      // Not all at once, so that magazines of different threads are filled at a time.
      const std::size_t kept = static_cast<std::size_t>(round + thread) % kOfEach;
      while (records.size() > kept) {
        pool.release(*records.back());
        records.pop_back();
      }
      for (Record* const record : records) pool.release(*record);
      records.clear();
    }
  });
  EXPECT_EQ(refused, 0);
  int sum = 0;
  for (std::uint32_t index = 0; pool.find(index) != nullptr; ++index) sum += pool.find(index)->uses;
  EXPECT_EQ(sum, all);
}

}  // namespace
}  // namespace weft
