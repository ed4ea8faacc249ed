#include "base/parse.hpp"

#include <gtest/gtest.h>

namespace weft::base {
namespace {

TEST(Parse, integers_are_read_whole_or_not_at_all) {
  EXPECT_EQ(parse_integer("42"), 42);
  EXPECT_EQ(parse_integer("+42"), 42);
  EXPECT_EQ(parse_integer("-7"), -7);
  for (const char* bad : {"", " 1", "1 ", "1x", "+-1", "0x10", "99999999999999999999"}) {
    EXPECT_EQ(parse_integer(bad), std::nullopt) << bad;
  }
}

TEST(Parse, sizes_take_suffixes_of_powers_of_1024) {
  EXPECT_EQ(parse_size("432"), 432);
  EXPECT_EQ(parse_size("64K"), 65536);
  EXPECT_EQ(parse_size("64k"), 65536);
  EXPECT_EQ(parse_size("2M"), 2 << 20);
  EXPECT_EQ(parse_size("1G"), 1 << 30);
  EXPECT_EQ(parse_size("1GiB"), 1 << 30);
  EXPECT_EQ(parse_size("8kB"), 8192);
  for (const char* bad : {"", "K", "1X", "1KK", "-1K", "1.5K", "99999999999T"}) {
    EXPECT_EQ(parse_size(bad), std::nullopt) << bad;
  }
}

TEST(Parse, seconds_are_finite_and_not_negative) {
  EXPECT_EQ(parse_seconds("5"), 5.0);
  EXPECT_EQ(parse_seconds("0.05"), 0.05);
  EXPECT_EQ(parse_seconds("3s"), 3.0);
  EXPECT_DOUBLE_EQ(parse_seconds("20ms").value(), 0.02);
  for (const char* bad : {"", "s", "-1", "inf", "nan", "1m", "1 s"})
    EXPECT_EQ(parse_seconds(bad), std::nullopt) << bad;
}

TEST(Parse, booleans_take_the_usual_words) {
  EXPECT_EQ(parse_boolean("Yes"), true);
  EXPECT_EQ(parse_boolean("off"), false);
  EXPECT_EQ(parse_boolean("1"), true);
  EXPECT_EQ(parse_boolean("maybe"), std::nullopt);
}

TEST(Parse, printed_sizes_and_seconds_are_read_back) {
  EXPECT_EQ(size_text(8192), "8K");
  EXPECT_EQ(size_text(1000), "1000");
  EXPECT_EQ(size_text(0), "0");
  EXPECT_EQ(size_text(std::int64_t{3} << 40), "3T");
  EXPECT_EQ(seconds_text(0.05), "0.05");
  EXPECT_EQ(seconds_text(30), "30");
}

TEST(Parse, edit_distance_counts_single_letter_changes) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("lane", ""), 4u);
  EXPECT_EQ(edit_distance("packets", "packet"), 1u);
  EXPECT_EQ(edit_distance("spin", "spun"), 1u);
}

}  // namespace
}  // namespace weft::base
