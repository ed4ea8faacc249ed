// Mean, deviation and percentiles of measured values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "study/ranks/workload.hpp"

namespace weft::tools::study {

/// "NAME", "NAME_deviation", "NAME_p50", "_p90", "_p99" and "_max" of the values.
inline void add_distribution(Json& figures, const std::string& name, std::vector<double> values) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  figures[name] = mean;
  figures[name + "_deviation"] = std::sqrt(squares / static_cast<double>(values.size()));
  figures[name + "_p50"] = at(0.5);
  figures[name + "_p90"] = at(0.9);
  figures[name + "_p99"] = at(0.99);
  figures[name + "_max"] = values.back();
}

}  // namespace weft::tools::study
