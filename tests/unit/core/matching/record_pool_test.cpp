#include "core/matching/table/record_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <set>
#include <thread>
#include <vector>

namespace weft::core {
namespace {

struct Item : PooledRecord {
  static inline std::atomic<int> living = 0;  // threads make records
  Item() { ++living; }
  ~Item() { --living; }
  int value = 0;
};
using Pool = RecordPool<Item>;

class RecordPoolTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(pool, RecordPoolTest, testing::Bool(),
                         [](const auto& serial) { return serial.param ? "serial" : "shared"; });

TEST_P(RecordPoolTest, gives_every_record_once_and_then_none) {
  for (const std::uint32_t limit : {1U, 2U, 7U, 63U, 64U, 1000U}) {
    Pool pool(limit, GetParam());
    for (int round = 0; round < 3; ++round) {
      std::vector<Item*> taken;
      std::set<std::uint32_t> indices;
      while (Item* item = pool.take()) {
        taken.push_back(item);
        indices.insert(item->index());
        ASSERT_LE(taken.size(), limit);
      }
      EXPECT_EQ(taken.size(), limit);
      EXPECT_EQ(indices.size(), limit);
      EXPECT_EQ(*indices.rbegin(), limit - 1);
      for (Item* item : taken) pool.release(*item);
    }
  }
}

TEST_P(RecordPoolTest, makes_no_more_records_than_are_in_use_at_once) {
  {
    Pool pool(1 << 20, GetParam());
    for (int round = 0; round < 100'000; ++round) {
      Item* first = pool.take();
      Item* second = pool.take();
      pool.release(*first);
      pool.release(*second);
    }
    EXPECT_LE(Item::living, 64);
  }
  EXPECT_EQ(Item::living, 0) << "records end with their pool";
}

TEST_P(RecordPoolTest, finds_a_record_by_index_and_generation_of_its_use) {
  Pool pool(100, GetParam());
  EXPECT_EQ(pool.find(0), nullptr) << "no record has been made";
  Item* item = pool.take();
  const std::uint32_t index = item->index();
  const std::uint32_t generation = item->generation();
  EXPECT_NE(generation, 0U) << "0 may stand for no record";
  EXPECT_EQ(pool.find(index), item);
  EXPECT_EQ(pool.find(index, generation), item);
  EXPECT_EQ(pool.find(index, generation + 1), nullptr);
  EXPECT_EQ(pool.find(100), nullptr);
  EXPECT_EQ(pool.find(~0U, 1), nullptr);
  pool.release(*item);
  EXPECT_EQ(pool.find(index), item) << "the index stays";
  EXPECT_EQ(pool.find(index, generation), nullptr) << "the use has ended";
  Item* again = pool.take();
  EXPECT_EQ(again, item) << "what was used last is used first";
  EXPECT_EQ(pool.find(index, generation + 1), item);
}

TEST_P(RecordPoolTest, constructs_a_record_once) {
  Pool pool(4, GetParam());
  Item* item = pool.take();
  item->value = 42;
  pool.release(*item);
  EXPECT_EQ(pool.take()->value, 42);
}

TEST(RecordPool, passes_records_from_threads_that_give_back_to_those_that_take) {
  Pool pool(1000, false);
  for (int round = 0; round < 20; ++round) {
    std::vector<Item*> taken;
    while (taken.size() < 800) {
      Item* item = pool.take();
      ASSERT_NE(item, nullptr) << round;
      taken.push_back(item);
    }
    std::thread([&] {
      for (Item* item : taken) pool.release(*item);
    }).join();
  }
}

TEST(RecordPool, lets_as_many_be_in_use_as_its_limit_wherever_free_ones_lie) {
  constexpr std::uint32_t kLimit = 64;
  Pool pool(kLimit, false);
  // In threads that idle at the same time, so that each has a magazine.
  std::latch all(8);
  std::latch idle(8);
  std::latch end(1);
  std::vector<std::thread> threads;
  for (int count = 0; count < 8; ++count)
    threads.emplace_back([&] {
      std::vector<Item*> taken;
      for (std::uint32_t round = 0; round < kLimit / 8; ++round) taken.push_back(pool.take());
      all.arrive_and_wait();
      for (Item* item : taken) {
        ASSERT_NE(item, nullptr);
        pool.release(*item);
      }
      idle.count_down();
      end.wait();
    });
  idle.wait();
  std::set<Item*> taken;
  for (std::uint32_t count = 0; count < kLimit; ++count) {
    Item* item = pool.take();
    ASSERT_NE(item, nullptr) << count;
    EXPECT_TRUE(taken.insert(item).second);
    EXPECT_EQ(pool.find(item->index(), item->generation()), item);
  }
  std::uint32_t further = 0;
  while (pool.take() != nullptr) ++further;
  EXPECT_LE(further, kLimit) << "a bounded number of others";
  end.count_down();
  for (std::thread& thread : threads) thread.join();
}

TEST(RecordPool, serves_threads_without_a_magazine) {
  Pool pool(100, false);
  std::set<Item*> taken;
  for (std::uint32_t thread = 250; thread < 260; ++thread)
    for (int count = 0; count < 5; ++count) {
      Item* item = pool.take(thread);
      ASSERT_NE(item, nullptr);
      EXPECT_TRUE(taken.insert(item).second);
    }
  for (Item* item : taken) pool.release(*item, 300);
  taken.clear();
  while (Item* item = pool.take(300)) EXPECT_TRUE(taken.insert(item).second);
  EXPECT_GE(taken.size(), 40U);
}

}  // namespace
}  // namespace weft::core
