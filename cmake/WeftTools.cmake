# The weft command.

weft_find(CLI11 libcli11-dev WEFT_BUILD_TOOLS)
weft_find(fmt libfmt-dev WEFT_BUILD_TOOLS)
weft_find(nlohmann_json nlohmann-json3-dev WEFT_BUILD_TOOLS)
# SHA-1 for the trees of `weft study uts`.
find_path(WEFT_NETTLE_INCLUDE_DIR nettle/sha1.h)
find_library(WEFT_NETTLE_LIBRARY nettle)
if(NOT WEFT_NETTLE_INCLUDE_DIR OR NOT WEFT_NETTLE_LIBRARY)
  message(FATAL_ERROR "nettle was not found: install nettle-dev, or configure with -DWEFT_BUILD_TOOLS=OFF")
endif()

weft_add_program(weft-command weft weft_command_core "${PROJECT_SOURCE_DIR}/tools")
get_target_property(weft_core_type weft_command_core TYPE)
set(weft_core_scope PUBLIC)
if(weft_core_type STREQUAL "INTERFACE_LIBRARY")
  set(weft_core_scope INTERFACE)
endif()
target_link_libraries(weft_command_core ${weft_core_scope} weft_internal weft-parcel CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json
  "${WEFT_NETTLE_LIBRARY}")
target_include_directories(weft_command_core ${weft_core_scope} "${PROJECT_SOURCE_DIR}/tools" "${PROJECT_SOURCE_DIR}")
# What `weft info` reports as build options.
target_compile_definitions(weft_command_core ${weft_core_scope}
  WEFT_BUILD_TYPE="$<CONFIG>"
  WEFT_BUILD_SANITIZER="${WEFT_SANITIZE}"
  WEFT_BUILD_LIBRARY="$<IF:$<BOOL:${BUILD_SHARED_LIBS}>,shared,static>"
  WEFT_BUILD_HWLOC=$<BOOL:${WEFT_HAVE_HWLOC}>
  WEFT_BUILD_COMPILER="${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")

# Other libraries that `weft perf` compares with: one plugin each, opened only by the processes that measure them. What is
# not installed has no plugin, and is named as left out.
option(WEFT_PERF_PEERS "Build the plugins of `weft perf` for the libraries that are found (UCX, MPICH, Open MPI)" ON)
get_target_property(weft_command_sources weft_command_core SOURCES)
list(FILTER weft_command_sources EXCLUDE REGEX "/(perf/(plugins|micro)|study/peers)/")
set_target_properties(weft_command_core PROPERTIES SOURCES "${weft_command_sources}")
set(weft_perf_plugin_folder "${CMAKE_INSTALL_LIBDIR}/weft-perf")
file(RELATIVE_PATH weft_to_plugins "/${CMAKE_INSTALL_BINDIR}" "/${weft_perf_plugin_folder}")
target_compile_definitions(weft_command_core ${weft_core_scope} WEFT_PERF_PLUGIN_FOLDER="${weft_to_plugins}")
target_link_libraries(weft_command_core ${weft_core_scope} ${CMAKE_DL_LIBS})

include(WeftCharts)
target_sources(weft_command_core PRIVATE "${weft_chart_source}")
if(WEFT_INSTALL AND weft_chart_library)
  install(FILES "${PROJECT_SOURCE_DIR}/tools/common/chart_licence.txt" DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME licence-of-chart.js.txt)
endif()

# Loops of a nanosecond are measured: where one lies in its cache lines must not decide between two libraries.
set(weft_perf_alignment -falign-functions=64 -falign-loops=64)
if(NOT weft_core_type STREQUAL "INTERFACE_LIBRARY")
  target_compile_options(weft_command_core PRIVATE ${weft_perf_alignment})
endif()

include(WeftPerfPlugins)
include(WeftStudyPeers)
