// The histogram as a chart.
#pragma once

#include "output/histogram.hpp"

#include "common/chart.hpp"

namespace kmer {

/// Columns of distinct k-mers (logarithmic) over their count, as far as 99.9 % of the kept k-mers go.
[[nodiscard]] weft::tools::Chart chart_histogram(const Histogram& histogram, int k);

}  // namespace kmer
