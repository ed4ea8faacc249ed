# What pages with charts contain: the library Chart.js, and the script and style of tools/common, as data of the program.
set(WEFT_CHART_LIBRARY AUTO CACHE STRING "Chart.js for the pages of `weft perf` and `weft study`: AUTO, OFF (tables only), or the path of chart.min.js")

set(weft_chart_library "${WEFT_CHART_LIBRARY}")
if(WEFT_CHART_LIBRARY STREQUAL "AUTO")
  find_file(WEFT_CHART_LIBRARY_FOUND NAMES chart.min.js Chart.min.js PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
    NO_DEFAULT_PATH)
  mark_as_advanced(WEFT_CHART_LIBRARY_FOUND)
  set(weft_chart_library "${WEFT_CHART_LIBRARY_FOUND}")
  if(NOT weft_chart_library)
    message(STATUS "Chart.js was not found (Debian: libjs-chart.js): pages show tables instead of charts")
  endif()
elseif(WEFT_CHART_LIBRARY AND NOT EXISTS "${WEFT_CHART_LIBRARY}")
  message(FATAL_ERROR "WEFT_CHART_LIBRARY is '${WEFT_CHART_LIBRARY}': there is no such file; it is AUTO, OFF or the path of chart.min.js")
endif()

# weft_embed(<variable> <name> <file>): appends the definition of a text with the file's content; an empty one without a file.
function(weft_embed variable name file)
  set(bytes "")
  if(file)
    file(READ "${file}" bytes HEX)
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
    string(REGEX REPLACE "(('....',)('....',)('....',)('....',)('....',)('....',)('....',)('....',))" "\\1\n" bytes "${bytes}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  endif()
  set(${variable} "${${variable}}static const char k${name}Bytes[] = {${bytes}0};
const std::string_view kChart${name}(k${name}Bytes, sizeof k${name}Bytes - 1);\n" PARENT_SCOPE)
endfunction()

set(weft_chart_assets "// Made by cmake/WeftCharts.cmake.\n#include \"common/chart_assets.hpp\"\n\nnamespace weft::tools {\n\n")
weft_embed(weft_chart_assets Library "${weft_chart_library}")
weft_embed(weft_chart_assets Script "${PROJECT_SOURCE_DIR}/tools/common/chart_page.js")
weft_embed(weft_chart_assets Style "${PROJECT_SOURCE_DIR}/tools/common/chart_page.css")
weft_embed(weft_chart_assets Licence "${PROJECT_SOURCE_DIR}/tools/common/chart_licence.txt")
string(APPEND weft_chart_assets "\n}  // namespace weft::tools\n")
set(weft_chart_source "${PROJECT_BINARY_DIR}/generated/chart_assets.cpp")
file(CONFIGURE OUTPUT "${weft_chart_source}" CONTENT "${weft_chart_assets}" @ONLY)
