#pragma once

#include <cstddef>
#include <vector>

namespace weft::tools {

/// Median and extremes of some values, and an interval in which the median of all possible rounds lies.
struct Spread {
  double median = 0;
  double low = 0;
  double high = 0;
  std::size_t count = 0;
  // The interval lies between two of the values themselves, whatever their distribution (order statistics).
  // With fewer than six values it reaches from the lowest to the highest and its confidence is below 0.95.
  double interval_low = 0;
  double interval_high = 0;
  double confidence = 0;
};
Spread spread_of(std::vector<double> values);

}  // namespace weft::tools
