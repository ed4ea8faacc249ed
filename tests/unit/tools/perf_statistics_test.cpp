#include "common/statistics.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace weft::tools::perf {
namespace {

std::vector<double> up_to(int count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Spread, of_nothing_has_no_rounds) { EXPECT_EQ(spread_of(std::vector<double>()).count, 0U); }

TEST(Spread, does_not_depend_on_the_order_of_values) {
  const Spread spread = spread_of({3, 1, 2, 5, 4});
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.low, 1);
  EXPECT_EQ(spread.high, 5);
  EXPECT_EQ(spread.count, 5U);
}

TEST(Spread, of_an_even_number_lies_between_the_middle_two) { EXPECT_EQ(spread_of({1, 2, 4, 8}).median, 3); }

TEST(Spread, of_few_rounds_says_how_little_confidence_there_is) {
  const Spread five = spread_of(up_to(5));
  EXPECT_EQ(five.interval_low, 1);
  EXPECT_EQ(five.interval_high, 5);
  EXPECT_NEAR(five.confidence, 1 - 2.0 / 32, 1e-12);
  EXPECT_EQ(spread_of({7}).confidence, 0);
}

// Tables of the sign test: the sixth value from each end with 21 rounds, at 97.3 %.
TEST(Spread, leaves_out_as_many_rounds_as_the_sign_test_allows) {
  const Spread many = spread_of(up_to(21));
  EXPECT_EQ(many.interval_low, 6);
  EXPECT_EQ(many.interval_high, 16);
  EXPECT_NEAR(many.confidence, 0.9734, 1e-4);
  const Spread six = spread_of(up_to(6));
  EXPECT_EQ(six.interval_low, 1);
  EXPECT_EQ(six.interval_high, 6);
  EXPECT_NEAR(six.confidence, 1 - 2.0 / 64, 1e-12);
}

TEST(Spread, narrows_with_more_rounds_but_stays_confident) {
  for (int count = 6; count < 200; ++count) {
    const Spread spread = spread_of(up_to(count));
    EXPECT_GE(spread.confidence, 0.95) << count;
    EXPECT_LE(spread.interval_low, spread.median);
    EXPECT_GE(spread.interval_high, spread.median);
  }
}

}  // namespace
}  // namespace weft::tools::perf
