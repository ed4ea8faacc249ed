#pragma once

#include <cstddef>
#include <vector>

namespace weft::tools::perf {

/// Median and extremes of some values.
struct Spread {
  double median = 0;
  double low = 0;
  double high = 0;
  std::size_t count = 0;
};
Spread spread_of(std::vector<double> values);

}  // namespace weft::tools::perf
