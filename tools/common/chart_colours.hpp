#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "common/chart.hpp"

namespace weft::tools {

/// How a series looks: the colour of its family, and its index among the series of that family, which chooses
/// dashes and marks.
struct SeriesStyle {
  std::string_view colour;  ///< "#3b82c4"
  std::size_t index_in_family;
};

/// One for each series. Libraries that `weft perf` compares have the same colour in every chart.
std::vector<SeriesStyle> styles_of(const Chart& chart);

}  // namespace weft::tools
