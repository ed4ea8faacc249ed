#pragma once

#include <string>
#include <string_view>

#include "common/chart.hpp"

namespace weft::tools {

/// Escapes the five characters that text in a page must not contain.
std::string escaped(std::string_view text);

/// A part of a page: heading, note, the chart, and its figures as a table. A browser without scripts, and a
/// page of a program that was built without the library that draws charts, show the table alone. Empty when
/// the chart is. `level`: of the heading, 2 or 3.
std::string chart_section(const Chart& chart, int level = 2);

/// A whole page with that title and body: one file that loads nothing. Whoever calls it has escaped the body.
/// Below the body stands what made it: the command, date, versions, compiler and kernel.
std::string chart_page(std::string_view title, std::string_view body, std::string_view command);

/// The library that draws charts in pages, "Chart.js v3.9.1"; empty when the program was built without one.
std::string_view chart_library_name();

}  // namespace weft::tools
