#include "base/log.hpp"

#include <gtest/gtest.h>

namespace weft::base {
namespace {

TEST(Log, a_line_names_rank_and_level) {
  testing::internal::CaptureStderr();
  Log{LogLevel::warn, 3}.warn("the lane is full");
  Log{LogLevel::warn}.error("no job");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "weft[rank 3] warn: the lane is full\nweft error: no job\n");
}

TEST(Log, less_important_lines_than_the_level_are_left_out) {
  testing::internal::CaptureStderr();
  const Log log{LogLevel::warn, 0};
  log.info("quiet");
  log.debug("quiet");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(log.enabled(LogLevel::error));
  EXPECT_FALSE(log.enabled(LogLevel::info));
}

TEST(Log, a_message_stays_one_line) {
  testing::internal::CaptureStderr();
  Log{}.warn("two\nlines");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "weft warn: two lines\n");
}

}  // namespace
}  // namespace weft::base
