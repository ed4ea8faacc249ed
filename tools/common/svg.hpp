#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::tools {

/// A bar of a bar chart.
struct SvgBar {
  std::string name;
  std::string_view style;  ///< class of the page that colours it
  double value;
  double low;  ///< whisker
  double high;
  std::string label;
};

/// Draws horizontal bars from zero on, with whiskers; colours come from the classes of the page.
std::string svg_bars(const std::vector<SvgBar>& bars);

/// Escapes the five characters that text in a page must not contain.
std::string escaped(std::string_view text);

}  // namespace weft::tools
