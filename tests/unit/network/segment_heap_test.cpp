// The room of a segment: taken from the front, given back, and whole again.
#include "network/shm/segment/segment_heap.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace weft::network::shm {
namespace {

TEST(SegmentHeap, GivesTheFirstThatFits) {
  SegmentHeap heap(100, 200);
  EXPECT_EQ(heap.take(40), 100U);
  EXPECT_EQ(heap.take(40), 140U);
  EXPECT_EQ(heap.take(40), 0U);
  EXPECT_EQ(heap.take(20), 180U);
  EXPECT_EQ(heap.used(), 100U);
  heap.release(140, 40);
  EXPECT_EQ(heap.take(30), 140U);
  EXPECT_EQ(heap.take(10), 170U);
  EXPECT_EQ(heap.take(1), 0U);
}

TEST(SegmentHeap, JoinsNeighbours) {
  SegmentHeap heap(1, 91);
  for (const std::uint64_t expected : {1U, 31U, 61U}) ASSERT_EQ(heap.take(30), expected);
  heap.release(1, 30);
  heap.release(61, 30);
  EXPECT_EQ(heap.take(60), 0U);
  heap.release(31, 30);
  EXPECT_EQ(heap.used(), 0U);
  EXPECT_EQ(heap.take(90), 1U);
}

TEST(SegmentHeap, NeverGivesTwiceAndIsWholeInTheEnd) {
  constexpr std::uint64_t kEnd = 10'000;
  SegmentHeap heap(1, kEnd);
  std::mt19937 random(7);
  std::map<std::uint64_t, std::uint64_t> taken;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0) {
      const std::uint64_t bytes = 1 + random() % 300;
      const std::uint64_t offset = heap.take(bytes);
      if (offset == 0) continue;
      const auto [at, is_new] = taken.emplace(offset, bytes);
      ASSERT_TRUE(is_new);
      ASSERT_LE(offset + bytes, kEnd);
      if (at != taken.begin()) {
        ASSERT_LE(std::prev(at)->first + std::prev(at)->second, offset);
      }
      if (std::next(at) != taken.end()) {
        ASSERT_LE(offset + bytes, std::next(at)->first);
      }
    } else if (!taken.empty()) {
      const auto at = std::next(taken.begin(), random() % taken.size());
      heap.release(at->first, at->second);
      taken.erase(at);
    }
  }
  for (const auto& [offset, bytes] : taken) heap.release(offset, bytes);
  EXPECT_EQ(heap.used(), 0U);
  EXPECT_EQ(heap.take(kEnd - 1), 1U);
}

}  // namespace
}  // namespace weft::network::shm
