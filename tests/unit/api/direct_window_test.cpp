#include <weft/detail/direct_window.hpp>

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace weft::detail {
namespace {

constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max();

class DirectWindowTest : public testing::Test {
 protected:
  /// Both ways to ask agree.
  bool allows(std::uint64_t offset, std::uint64_t count) const {
    EXPECT_EQ(window_.allows(offset, count), window_.allows(offset, count, 0));
    return window_.allows(offset, count);
  }

  std::array<std::byte, 100> memory_{};
  std::atomic<std::uint32_t> generation_{7};
  DirectWindow window_{memory_.data(), memory_.size(), &generation_, 7};
};

TEST_F(DirectWindowTest, allows_what_lies_inside_of_it) {
  EXPECT_TRUE(allows(0, 100));
  EXPECT_TRUE(allows(92, 8));
  EXPECT_TRUE(allows(0, 0));
  EXPECT_TRUE(allows(100, 0));
}

TEST_F(DirectWindowTest, refuses_what_reaches_out_of_it) {
  EXPECT_FALSE(allows(93, 8));
  EXPECT_FALSE(allows(0, 101));
  EXPECT_FALSE(allows(101, 0));
  EXPECT_FALSE(allows(101, 8));
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{8}, std::uint64_t{100}}) {
    EXPECT_FALSE(allows(kHighest, count));
    EXPECT_FALSE(allows(kHighest - count + 1, count));  // the end would be at 0 again
    EXPECT_FALSE(allows(kHighest / 2 + 1, count));
    EXPECT_FALSE(allows(count, kHighest));
    EXPECT_FALSE(allows(count, kHighest - count + 1));
  }
}

TEST_F(DirectWindowTest, refuses_everything_once_it_is_stale_or_something_else_speaks_against_it) {
  EXPECT_FALSE(window_.allows(0, 8, 1));
  EXPECT_FALSE(window_.allows(0, 8, 1U << 31));
  generation_ = 8;
  EXPECT_FALSE(allows(0, 8));
  EXPECT_FALSE(allows(0, 0));
  EXPECT_FALSE(kNoWindow.allows(0, 0));
}

}  // namespace
}  // namespace weft::detail
