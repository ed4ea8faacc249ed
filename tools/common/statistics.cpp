#include "common/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace weft::tools {
Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t count = values.size();
  const std::size_t middle = count / 2;
  Spread spread{.median = count % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2,
                .low = values.front(),
                .high = values.back(),
                .count = count};
  // The median lies below the value at `outside` with the probability that at most so many of all values lie
  // below their true median: a sum of binomial terms, each made from the one before.
  constexpr double kConfidence = 0.95;
  const auto n = static_cast<double>(count);
  double log_term = -n * std::log(2.0);
  double tail = std::exp(log_term);
  std::size_t outside = 0;  // values left out at each end
  while (2 * (outside + 1) < count) {
    const auto k = static_cast<double>(outside + 1);
    log_term += std::log((n - k + 1) / k);
    const double longer = tail + std::exp(log_term);
    if (1 - 2 * longer < kConfidence) break;
    tail = longer;
    ++outside;
  }
  spread.interval_low = values[outside];
  spread.interval_high = values[count - 1 - outside];
  spread.confidence = count == 1 ? 0 : 1 - 2 * tail;
  return spread;
}

}  // namespace weft::tools
