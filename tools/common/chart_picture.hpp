#pragma once

#include <string>

#include "common/chart.hpp"

namespace weft::tools {

/// An SVG picture, or the reason why there is none, for a message: "gnuplot is not installed".
struct ChartPicture {
  std::string svg;
  std::string why_not;
};

/// Draws a chart of lines or columns by gnuplot, which is looked for in PATH.
ChartPicture chart_picture(const Chart& chart);

/// What gnuplot is told: a script that writes the picture to its standard output.
std::string gnuplot_script(const Chart& chart);

}  // namespace weft::tools
