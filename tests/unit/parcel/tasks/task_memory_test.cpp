// Memory of tasks: blocks overlap in nothing, and those that one thread frees are the next ones of another.
#include <gtest/gtest.h>

#include <weft/parcel/task.hpp>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace weft::parcel {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kIsFromHeap = true;
#else
constexpr bool kIsFromHeap = false;
#endif

class MemoryOfTasks : public testing::TestWithParam<std::size_t> {
 protected:
  static std::vector<std::byte*> take(std::size_t count, std::size_t size) {
    std::vector<std::byte*> blocks;
    for (std::size_t number = 0; number < count; ++number) {
      blocks.push_back(static_cast<std::byte*>(detail::take_task_memory(size)));
      std::memset(blocks.back(), static_cast<int>(number % 251), size);
    }
    return blocks;
  }
  static void give(const std::vector<std::byte*>& blocks, std::size_t size) {
    for (std::byte* const each : blocks) detail::give_task_memory(each, size);
  }
};

TEST_P(MemoryOfTasks, OverlapsInNothing) {
  const std::size_t size = GetParam();
  // Twice, so that blocks have been given back in batches in between.
  for (int round = 0; round < 2; ++round) {
    const auto blocks = take(1000, size);
    for (std::size_t number = 0; number < blocks.size(); ++number)
      EXPECT_TRUE(std::all_of(blocks[number], blocks[number] + size, [&](std::byte each) {
        return each == static_cast<std::byte>(number % 251);
      })) << number;
    EXPECT_EQ(std::set(blocks.begin(), blocks.end()).size(), blocks.size());
    give(blocks, size);
  }
}

TEST_P(MemoryOfTasks, ThatOneThreadFreesIsTheNextOfOthers) {
  const std::size_t size = GetParam();
  if (kIsFromHeap || size > 512) GTEST_SKIP() << "it comes from the heap";
  std::set<std::byte*> known;
  for (int round = 0; round < 8; ++round) {
    std::vector<std::byte*> blocks;
    // More than a thread keeps, and no whole batches.
    std::thread([&] { blocks = take(1000 + static_cast<std::size_t>(round), size); }).join();
    if (round > 3) {
      EXPECT_TRUE(
          std::all_of(blocks.begin(), blocks.end(), [&](std::byte* each) { return known.contains(each); }))
          << "round " << round;
    }
    known.insert(blocks.begin(), blocks.end());
    std::thread([&] { give(blocks, size); }).join();
    // What the rounds before 4 add: blocks of batches that were cut.
    if (round == 3) {
      const auto more = take(2000, size);
      known.insert(more.begin(), more.end());
      std::thread([&] { give(more, size); }).join();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, MemoryOfTasks, testing::Values(1, 64, 65, 500, 512, 513),
                         [](const auto& each) { return "of" + std::to_string(each.param); });

}  // namespace
}  // namespace weft::parcel
