#pragma once

#include <string>
#include <vector>

#include "perf/catalogue.hpp"

namespace weft::tools::perf {

struct SvgPoint {
  double x;
  double value;
  double low;  ///< whisker
  double high;
};
struct SvgCurve {
  std::string name;
  Role role;
  std::vector<SvgPoint> points;  ///< by ascending x
};
struct SvgAxes {
  std::string x_name;
  std::string y_name;
  std::string (*x_label)(double x);
};

/// Curves over a logarithmic axis, with their names at their ends. Upwards from zero, or in powers of ten
/// where the values span more than a factor of 20. Empty when there is nothing above zero.
std::string svg_lines(const std::vector<SvgCurve>& curves, const SvgAxes& axes);

}  // namespace weft::tools::perf
