#include "output/histogram.hpp"

#include "output/plot.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/chart_axis.hpp"

namespace kmer {
namespace {

TEST(Histogram, KeepsSmallAndLargeCountsInOrder) {
  Histogram histogram;
  histogram.add(5'000'000'000, 2);
  histogram.add(1, 10);
  histogram.add(7, 0);
  histogram.add(3, 4);
  histogram.add(3, 1);
  const auto bins = histogram.bins();
  ASSERT_EQ(bins.size(), 3U);
  EXPECT_EQ(bins[0].count, 1U);
  EXPECT_EQ(bins[1].kmers, 5U);
  EXPECT_EQ(bins[2].count, 5'000'000'000U);
}

TEST(Histogram, TravelsAsBytes) {
  Histogram one, two;
  one.add(1, 10);
  one.add(9'999, 1);
  two.add(1, 5);
  two.add_bytes(one.to_bytes());
  const auto bins = two.bins();
  ASSERT_EQ(bins.size(), 2U);
  EXPECT_EQ(bins[0].kmers, 15U);
  EXPECT_EQ(bins[1].count, 9'999U);
}

TEST(Chart, HasAColumnForEveryCountAndNamesBothAxes) {
  Histogram histogram;
  for (std::uint64_t count = 1; count <= 20; ++count) histogram.add(count, 1000 / count);
  const weft::tools::Chart chart = chart_histogram(histogram, 31);
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_EQ(chart.series[0].points.size(), 1U);  // what was seen once
  EXPECT_EQ(chart.series[1].points.size(), 19U);
  EXPECT_EQ(chart.series[1].points.front().x, 2);
  EXPECT_EQ(chart.series[1].points.front().value, 500);
  EXPECT_NE(chart.title.find("Distinct 31-mers"), std::string::npos);
  EXPECT_EQ(chart.x.label, "occurrences of a 31-mer in the reads");
  EXPECT_EQ(chart.note, "");
}

TEST(Chart, EndsWhereAllButAThousandthOfTheKmersEnd) {
  Histogram histogram;
  for (std::uint64_t count = 2; count <= 20; ++count) histogram.add(count, 1'000'000);
  histogram.add(1'000'000, 3);
  EXPECT_EQ(chart_histogram(histogram, 31).note,
            "not shown: 3 31-mers that occur more often, up to 1000000 times");
}

TEST(Chart, OfAnEmptyHistogramIsEmpty) { EXPECT_TRUE(weft::tools::is_empty(chart_histogram({}, 5))); }

}  // namespace
}  // namespace kmer
