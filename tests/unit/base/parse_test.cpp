#include "base/text/parse.hpp"

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

TEST(Parse, durations_are_finite_and_not_negative) {
  EXPECT_EQ(parse_seconds("5"), 5.0);
  EXPECT_EQ(parse_seconds("0.05"), 0.05);
  EXPECT_EQ(parse_seconds("3s"), 3.0);
  EXPECT_DOUBLE_EQ(parse_seconds("20ms").value(), 0.02);
  EXPECT_DOUBLE_EQ(parse_seconds("7us").value(), 7e-6);
  EXPECT_DOUBLE_EQ(parse_seconds("250ns").value(), 250e-9);
  EXPECT_EQ(parse_seconds("1.5m"), 90.0);
  EXPECT_EQ(parse_seconds("2min"), 120.0);
  EXPECT_EQ(parse_seconds("1h"), 3600.0);
  for (const char* bad :
       {"", "s", "ms", "m", "-1", "-1s", "inf", "infs", "nan", "1 s", "1S", "1d", "1ss", "1e308h"})
    EXPECT_EQ(parse_seconds(bad), std::nullopt) << bad;
}

TEST(Parse, a_plain_duration_counts_in_the_unit_that_is_given) {
  EXPECT_EQ(parse_seconds("2", 60), 120.0);
  EXPECT_EQ(parse_seconds("2s", 60), 2.0);
  EXPECT_EQ(parse_whole_duration("7", 1e-6), 7);
  EXPECT_EQ(parse_whole_duration("1ms", 1e-6), 1000);
  EXPECT_EQ(parse_whole_duration("0.3us", 1e-9), 300);
  EXPECT_EQ(parse_whole_duration("0", 1e-9), 0);
  for (const char* bad : {"", "-1", "1.5", "500ns", "x"})
    EXPECT_EQ(parse_whole_duration(bad, 1e-6), std::nullopt) << bad;
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
