#include "common/commands/nearest_name.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weft::tools {
namespace {

TEST(NearestName, distance_counts_letters_and_swaps_as_one) {
  EXPECT_EQ(typing_distance("", ""), 0U);
  EXPECT_EQ(typing_distance("run", ""), 3U);
  EXPECT_EQ(typing_distance("run", "rum"), 1U);
  EXPECT_EQ(typing_distance("pref", "perf"), 1U);
  EXPECT_EQ(typing_distance("stduy", "study"), 1U);
  EXPECT_EQ(typing_distance("round", "rounds"), 1U);
  EXPECT_EQ(typing_distance("abc", "cba"), 2U);
}

TEST(NearestName, is_the_one_that_few_letters_differ_from) {
  const std::array<std::string, 4> names{"run", "info", "perf", "study"};
  EXPECT_EQ(nearest_name("rum", names), "run");
  EXPECT_EQ(nearest_name("pref", names), "perf");
  EXPECT_EQ(nearest_name("study", names), "study");
  for (const char* far : {"", "x", "go", "in", "nonsense", "runner"})
    EXPECT_EQ(nearest_name(far, names), "") << far;
  EXPECT_EQ(suggestion("rum", names), ": did you mean run?");
  EXPECT_EQ(suggestion("nonsense", names), "");
}

}  // namespace
}  // namespace weft::tools
