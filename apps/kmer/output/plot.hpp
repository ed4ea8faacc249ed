// The histogram as a picture.
#pragma once

#include "output/histogram.hpp"

#include <string>

namespace kmer {

/// An SVG plot of distinct k-mers (logarithmic) over their count, as far as 99.9 % of the kept k-mers go.
[[nodiscard]] std::string plot_histogram(const Histogram& histogram, int k);

}  // namespace kmer
