#pragma once

#include <string>
#include <vector>

#include "perf/catalogue.hpp"

namespace weft::tools::perf {

/// A line of a bar chart.
struct SvgBar {
  std::string name;
  Role role;
  double value;
  double low;  ///< whisker
  double high;
  std::string label;
};

/// Horizontal bars from zero on, with whiskers; colours come from the classes weft, limit and peer of the
/// page.
std::string svg_bars(const std::vector<SvgBar>& bars);

/// The five characters that text in a page may not have.
std::string escaped(std::string_view text);

}  // namespace weft::tools::perf
