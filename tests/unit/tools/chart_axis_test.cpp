// How the values of a chart are written, and where its axes begin and end.
#include "common/chart_axis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weft::tools {
namespace {

Chart chart_of(std::vector<ChartPoint> points) {
  Chart chart;
  chart.series.push_back({"one", {}, std::move(points)});
  return chart;
}

std::vector<std::string> texts(const std::vector<ChartTick>& ticks) {
  std::vector<std::string> all;
  for (const ChartTick& tick : ticks) all.push_back(tick.text);
  return all;
}

using Texts = std::vector<std::string>;

TEST(ValueText, has_the_unit_that_a_person_would_choose) {
  EXPECT_EQ(value_text(2.2e-5, Quantity::seconds), "22 us");
  EXPECT_EQ(value_text(53.4e-9, Quantity::seconds), "53.4 ns");
  EXPECT_EQ(value_text(0.0015, Quantity::seconds), "1.5 ms");
  EXPECT_EQ(value_text(12, Quantity::seconds), "12 s");
  EXPECT_EQ(value_text(371e6, Quantity::per_second), "371 M/s");
  EXPECT_EQ(value_text(12.34e9, Quantity::bytes_per_second), "12.3 GB/s");
  EXPECT_EQ(value_text(0.5, Quantity::percent), "0.5 %");
  EXPECT_EQ(value_text(65536, Quantity::bytes), "64K");
  EXPECT_EQ(value_text(8, Quantity::bytes), "8");
  EXPECT_EQ(value_text(1500, Quantity::number), "1,500");
  EXPECT_EQ(value_text(2.5e6, Quantity::number), "2.5 million");
}

TEST(ValueText, has_no_more_than_three_digits_of_a_fraction_and_never_an_exponent) {
  EXPECT_EQ(value_text(1.23456, Quantity::number), "1.23");
  EXPECT_EQ(value_text(0.0123456, Quantity::number), "0.0123");
  EXPECT_EQ(value_text(999.9e-9, Quantity::seconds), "1 us");
  EXPECT_EQ(value_text(0, Quantity::seconds), "0 s");
  EXPECT_EQ(value_text(0, Quantity::number), "0");
  for (double value = 1e-9; value < 1e12; value *= 3.7)
    for (const Quantity each : {Quantity::number, Quantity::seconds, Quantity::per_second, Quantity::bytes})
      EXPECT_EQ(value_text(value, each).find("e+"), std::string::npos) << value;
}

TEST(ChartLayout, is_linear_from_zero_where_values_are_near_each_other) {
  const Chart chart = chart_of({{1, 20e-6}, {2, 30e-6}});
  const ChartLayout layout = layout_of(chart);
  EXPECT_FALSE(layout.is_value_logarithmic);
  EXPECT_EQ(layout.least, 0);
  EXPECT_EQ(texts(value_ticks(layout, Quantity::seconds)),
            (Texts{"0", "5 us", "10 us", "15 us", "20 us", "25 us", "30 us"}));
}

TEST(ChartLayout, is_logarithmic_where_values_span_decades) {
  const Chart chart = chart_of({{1, 22e-9}, {2, 3e-3}});
  const ChartLayout layout = layout_of(chart);
  EXPECT_TRUE(layout.is_value_logarithmic);
  EXPECT_DOUBLE_EQ(layout.least, 20e-9);
  EXPECT_DOUBLE_EQ(layout.most, 5e-3);
  EXPECT_EQ(texts(value_ticks(layout, Quantity::seconds)),
            (Texts{"100 ns", "1 us", "10 us", "100 us", "1 ms"}));
}

TEST(ChartLayout, is_what_the_chart_asks_for) {
  Chart chart = chart_of({{1, 1}, {2, 1000}});
  chart.value.scale = Scale::linear;
  EXPECT_FALSE(layout_of(chart).is_value_logarithmic);
  chart = chart_of({{1, 100}, {2, 120}});
  chart.value.scale = Scale::logarithmic;
  EXPECT_TRUE(layout_of(chart).is_value_logarithmic);
  EXPECT_EQ(texts(value_ticks(layout_of(chart), Quantity::number)), (Texts{"100", "200"}));
}

TEST(ChartLayout, has_room_for_whiskers_and_bands) {
  Chart chart = chart_of({{1, 100, 90, 180}});
  EXPECT_GE(layout_of(chart).most, 180);
  chart = chart_of({{1, 100e-6}, {2, 120e-6}});
  chart.bands.push_back({"budget", 0, 300e-6});
  EXPECT_GE(layout_of(chart).most, 300e-6);
  chart.bands.front().to = 1;  // would leave nothing of the points
  EXPECT_LT(layout_of(chart).most, 1e-3);
}

TEST(ChartLayout, labels_every_place_of_few_and_draws_zero_below_a_logarithmic_axis) {
  Chart chart = chart_of({{0, 1}, {8, 1}, {64, 1}, {65536, 1}});
  chart.x.quantity = Quantity::bytes;
  const ChartLayout layout = layout_of(chart);
  EXPECT_TRUE(layout.is_x_logarithmic);
  EXPECT_EQ(texts(layout.ticks), (Texts{"0", "8", "64", "64K"}));
  EXPECT_EQ(layout.zero_at, 4);
  EXPECT_LT(layout.first, 4);
  EXPECT_GT(layout.last, 65536);
}

TEST(ChartLayout, has_doublings_at_even_distances) {
  EXPECT_TRUE(layout_of(chart_of({{1, 1}, {2, 1}, {4, 1}})).is_x_logarithmic);
  EXPECT_FALSE(layout_of(chart_of({{1, 1}, {2, 1}, {3, 1}})).is_x_logarithmic);
}

TEST(ChartLayout, of_bars_has_their_names_and_a_length_for_the_least) {
  Chart chart = chart_of({{0, 17e6}, {1, 474e6}});
  chart.form = Chart::Form::bars;
  chart.categories = {"ucx", "bare ring buffer"};
  const ChartLayout layout = layout_of(chart);
  EXPECT_EQ(texts(layout.ticks), (Texts{"ucx", "bare ring buffer"}));
  EXPECT_TRUE(layout.is_value_logarithmic);
  EXPECT_LE(layout.least, 0.6 * 17e6);
}

TEST(ChartLayout, of_nothing_is_a_range_all_the_same) {
  const ChartLayout layout = layout_of({});
  EXPECT_LT(layout.least, layout.most);
  EXPECT_LT(layout.first, layout.last);
  EXPECT_TRUE(is_empty({}));
  EXPECT_TRUE(is_empty(chart_of({})));
  EXPECT_FALSE(is_empty(chart_of({{1, 1}})));
}

}  // namespace
}  // namespace weft::tools
