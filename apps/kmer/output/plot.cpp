#include "output/plot.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace kmer {

namespace {

using weft::tools::Chart;
using weft::tools::ChartSeries;
using weft::tools::Quantity;
using weft::tools::Scale;

/// The count up to which the plot goes: all but one in a thousand of the kept k-mers, and at least ten
/// counts.
std::uint64_t last_count(const std::vector<Histogram::Bin>& bins) {
  std::uint64_t kept = 0;
  for (const auto& bin : bins) kept += bin.count >= 2 ? bin.kmers : 0;
  std::uint64_t seen = 0;
  std::uint64_t last = 10;
  for (const auto& bin : bins) {
    if (bin.count < 2) continue;
    seen += bin.kmers;
    last = std::max(last, bin.count);
    if (seen >= kept - kept / 1000) break;
  }
  return last;
}

}  // namespace

Chart chart_histogram(const Histogram& histogram, int k) {
  const std::vector<Histogram::Bin> bins = histogram.bins();
  const std::uint64_t last = last_count(bins);
  ChartSeries once{"seen once, not kept", "bare machine"};
  ChartSeries kept{"kept (2 or more)", "weft"};
  std::uint64_t beyond = 0;
  std::uint64_t highest = 0;
  for (const auto& [count, kmers] : bins) {
    highest = std::max(highest, count);
    if (count > last)
      beyond += kmers;
    else
      (count == 1 ? once : kept).points.push_back({static_cast<double>(count), static_cast<double>(kmers)});
  }
  Chart chart{.title = fmt::format("Distinct {}-mers by the number of their occurrences", k),
              .form = Chart::Form::columns,
              .x = {fmt::format("occurrences of a {}-mer in the reads", k), Quantity::number, Scale::linear},
              .value = {fmt::format("distinct {}-mers", k), Quantity::number, Scale::logarithmic},
              .series = {std::move(once), std::move(kept)}};
  if (beyond > 0)
    chart.note =
        fmt::format("not shown: {} {}-mers that occur more often, up to {} times", beyond, k, highest);
  return chart;
}

}  // namespace kmer
