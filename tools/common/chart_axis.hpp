#pragma once

#include <string>
#include <vector>

#include "common/chart.hpp"

namespace weft::tools {

/// Writes a value with three digits and the unit that a person would choose: 0.000022 seconds as "22 us".
std::string value_text(double value, Quantity quantity);

/// A position on the axis x that has a label.
struct ChartTick {
  double at;
  std::string text;
};

/// Where the points of a chart are drawn.
struct ChartLayout {
  bool is_x_logarithmic = false;
  bool is_value_logarithmic = false;
  /// The range of values, to round numbers, with whiskers and bands; above zero when it is logarithmic.
  double least = 0;
  double most = 1;
  double first = 0;  ///< the range of x, with a margin
  double last = 1;
  std::vector<ChartTick> ticks;  ///< of x, where it has few values; empty otherwise
  double zero_at = 0;            ///< where x = 0 is drawn: below the other values of a logarithmic axis
};
ChartLayout layout_of(const Chart& chart);

/// Round values on the axis of values: powers of ten, with 2 and 5 times them where there are few, or even
/// steps.
std::vector<ChartTick> value_ticks(const ChartLayout& layout, Quantity quantity);

/// Returns true when bars or columns are drawn as dots: on a logarithmic axis their length would say nothing.
bool has_dots(const Chart& chart, const ChartLayout& layout);

/// Returns true when there is nothing to draw.
bool is_empty(const Chart& chart);

}  // namespace weft::tools
