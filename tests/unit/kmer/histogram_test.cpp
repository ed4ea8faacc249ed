#include "output/histogram.hpp"

#include "output/plot.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kmer {
namespace {

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

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

TEST(Plot, DrawsABarForEveryCountAndNamesBothAxes) {
  Histogram histogram;
  for (std::uint64_t count = 1; count <= 20; ++count) histogram.add(count, 1000 / count);
  const std::string svg = plot_histogram(histogram, 31);
  EXPECT_EQ(svg.find("<svg "), 0U);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  EXPECT_EQ(occurrences(svg, "0z"), 20U);
  EXPECT_NE(svg.find("Distinct 31-mers"), std::string::npos);
  EXPECT_NE(svg.find("Occurrences of a 31-mer in the reads"), std::string::npos);
  EXPECT_EQ(svg.find("not shown"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Plot, EndsWhereAllButAThousandthOfTheKmersEnd) {
  Histogram histogram;
  for (std::uint64_t count = 2; count <= 20; ++count) histogram.add(count, 1'000'000);
  histogram.add(1'000'000, 3);
  EXPECT_NE(
      plot_histogram(histogram, 31).find("not shown: 3 31-mers that occur more often, up to 1000000 times"),
      std::string::npos);
}

TEST(Plot, DrawsAnEmptyHistogram) {
  const std::string svg = plot_histogram({}, 5);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Plot, HasFewLabelsHoweverWideItIs) {
  for (const std::uint64_t last : {10U, 99U, 1234U, 1'300'000U, 40'000'000U}) {
    Histogram histogram;
    histogram.add(last, 1000);
    EXPECT_LT(occurrences(plot_histogram(histogram, 1), "v5\""), 14U) << last;
  }
}

}  // namespace
}  // namespace kmer
