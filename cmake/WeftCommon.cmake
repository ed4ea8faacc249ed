# What the tools and the applications share: tools/common.

weft_find(CLI11 libcli11-dev WEFT_BUILD_TOOLS=OFF -DWEFT_BUILD_APPS)
weft_find(fmt libfmt-dev WEFT_BUILD_TOOLS=OFF -DWEFT_BUILD_APPS)
weft_find(nlohmann_json nlohmann-json3-dev WEFT_BUILD_TOOLS=OFF -DWEFT_BUILD_APPS)

include(WeftCharts)
if(WEFT_INSTALL AND WEFT_BUILD_TOOLS AND weft_chart_library)
  install(FILES "${PROJECT_SOURCE_DIR}/tools/common/chart_licence.txt" DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME licence-of-chart.js.txt)
endif()

file(GLOB_RECURSE weft_common_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/common/*.cpp")
add_library(weft_tools_common STATIC ${weft_common_sources} "${weft_chart_source}")
weft_target_defaults(weft_tools_common)
weft_compile_lightly(weft_tools_common)
target_link_libraries(weft_tools_common PUBLIC weft::weft CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json)
target_include_directories(weft_tools_common PUBLIC "${PROJECT_SOURCE_DIR}/tools")
