// Stacks of tasks: whole pages, each with a page below it that nobody touches, one beside the other.
#include "parcel/tasks/stack_memory.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <vector>

namespace weft::parcel {
namespace {

const auto kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

TEST(StacksOfTasks, HaveWholePagesAndNoFewerThanWereAskedFor) {
  for (const std::size_t more : {std::size_t{1}, std::size_t{2}, kPage - 1, kPage})
    EXPECT_EQ(StackMemory(4 * kPage + more).usable_size(), 4 * kPage) << more;
  EXPECT_EQ(StackMemory(4 * kPage).usable_size(), 3 * kPage);
}

TEST(StacksOfTasks, LieSideBySideInFewMappings) {
  StackMemory memory(4 * kPage);
  std::vector<std::byte*> stacks;
  std::ptrdiff_t apart = 0;
  for (int count = 0; count < 100; ++count) {
    stacks.push_back(memory.make());
    std::memset(stacks.back(), count, memory.usable_size());
    if (count != 0 && stacks.back() - stacks[stacks.size() - 2] != static_cast<std::ptrdiff_t>(4 * kPage))
      ++apart;
  }
  EXPECT_EQ(apart, 0) << "a slab holds more than a hundred of them";
  for (int count = 0; count < 100; ++count) {
    const std::byte* const stack = stacks[static_cast<std::size_t>(count)];
    EXPECT_EQ(stack[0], static_cast<std::byte>(count));
    EXPECT_EQ(stack[memory.usable_size() - 1], static_cast<std::byte>(count));
  }
}

}  // namespace
}  // namespace weft::parcel
