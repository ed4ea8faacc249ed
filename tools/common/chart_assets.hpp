// Files that every page with charts contains; the build makes their source (cmake/WeftCharts.cmake).
#pragma once

#include <string_view>

namespace weft::tools {

extern const std::string_view kChartLibrary;  ///< Chart.js; empty when it was not found
extern const std::string_view kChartScript;   ///< chart_page.js
extern const std::string_view kChartStyle;    ///< chart_page.css
extern const std::string_view kChartLicence;  ///< chart_licence.txt, of the library

}  // namespace weft::tools
