#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::tools {

struct SvgPoint {
  double x;
  double value;
  double low;  ///< whisker
  double high;
};
struct SvgCurve {
  std::string name;
  std::string_view style;        ///< class of the page that colours it
  std::vector<SvgPoint> points;  ///< by ascending x
};
struct SvgAxes {
  std::string x_name;
  std::string y_name;
  std::string (*x_label)(double x);
};

/// Draws curves over a logarithmic axis, with their names at their ends. The vertical axis starts at zero, or
/// is logarithmic when the values span more than a factor of 20. Empty when no value is above zero.
std::string svg_lines(const std::vector<SvgCurve>& curves, const SvgAxes& axes);

}  // namespace weft::tools
