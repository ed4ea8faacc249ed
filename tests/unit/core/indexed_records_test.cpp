#include "core/memory/indexed_records.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace weft {
namespace {

struct Record {
  Record() { ++alive; }
  ~Record() { --alive; }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  std::uint32_t index = 99;
  int left_by_its_owner = 0;
  static inline int alive = 0;
};

TEST(IndexedRecords, makes_a_record_when_it_is_first_taken) {
  constexpr std::uint32_t kCapacity = 1U << 20;
  {
    core::IndexedRecords<Record> records(kCapacity, "a test");
    EXPECT_EQ(records.capacity(), kCapacity);
    EXPECT_EQ(Record::alive, 0);
    EXPECT_EQ(records.find(0), nullptr);
    EXPECT_TRUE(records.begin() == records.end());
    Record* const first = records.take();
    Record* const second = records.take();
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(Record::alive, 2);
    EXPECT_EQ(first->index, 0U);
    EXPECT_EQ(second->index, 1U);
    second->left_by_its_owner = 5;
    records.put(*second);
    records.put(*first);
    EXPECT_EQ(records.take(), first);
    EXPECT_EQ(records.take()->left_by_its_owner, 5);
    EXPECT_EQ(Record::alive, 2);
  }
  EXPECT_EQ(Record::alive, 0);
}

TEST(IndexedRecords, finds_what_was_made_and_nothing_else) {
  core::IndexedRecords<Record> records(4, "a test");
  for (std::uint32_t index = 0; index < 3; ++index) {
    const Record* const taken = records.take();
    EXPECT_EQ(taken, records.find(index));
  }
  records.put(records[1]);
  EXPECT_EQ(records.find(1), &records[1]);
  EXPECT_EQ(records.find(3), nullptr);
  EXPECT_EQ(records.find(4), nullptr);
  EXPECT_EQ(records.find(~std::uint32_t{0}), nullptr);
  std::uint32_t next = 0;
  for (const Record& record : records) EXPECT_EQ(record.index, next++);
  EXPECT_EQ(next, 3U);
}

TEST(IndexedRecords, has_no_more_than_its_capacity) {
  core::IndexedRecords<Record> records(2, "a test");
  Record* const first = records.take();
  ASSERT_NE(records.take(), nullptr);
  EXPECT_EQ(records.take(), nullptr);
  records.put(*first);
  EXPECT_EQ(records.take(), first);
  EXPECT_EQ(records.take(), nullptr);
}

}  // namespace
}  // namespace weft
