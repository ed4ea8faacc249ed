# The command weft, and the commands that are programs of their own: weft-perf and weft-study, which weft starts.

# SHA-1 for the trees of `weft study uts`.
find_path(WEFT_NETTLE_INCLUDE_DIR nettle/sha1.h)
find_library(WEFT_NETTLE_LIBRARY nettle)
if(NOT WEFT_NETTLE_INCLUDE_DIR OR NOT WEFT_NETTLE_LIBRARY)
  message(FATAL_ERROR "nettle was not found: install nettle-dev, or configure with -DWEFT_BUILD_TOOLS=OFF")
endif()

# weft_tool(<core library> <folder>...): the sources of these folders of tools/ but main.cpp, which unit tests link as well.
function(weft_tool core)
  set(patterns)
  foreach(folder IN LISTS ARGN)
    list(APPEND patterns "${PROJECT_SOURCE_DIR}/tools/${folder}/*.cpp")
  endforeach()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  list(FILTER sources EXCLUDE REGEX "/(main[.]cpp|perf/plugins/.*|study/(peers|parcelports)/.*)$")
  add_library(${core} STATIC ${sources})
  weft_target_defaults(${core})
  target_link_libraries(${core} PUBLIC weft_internal weft_tools_common)
  target_include_directories(${core} PUBLIC "${PROJECT_SOURCE_DIR}/tools" "${PROJECT_SOURCE_DIR}")
endfunction()

weft_tool(weft_command_core run info)
weft_compile_lightly(weft_command_core)
# What `weft info` reports as build options.
target_compile_definitions(weft_command_core PRIVATE
  WEFT_BUILD_TYPE="$<CONFIG>"
  WEFT_BUILD_SANITIZER="${WEFT_SANITIZE}"
  WEFT_BUILD_LIBRARY="$<IF:$<BOOL:${BUILD_SHARED_LIBS}>,shared,static>"
  WEFT_BUILD_HWLOC=$<BOOL:${WEFT_HAVE_HWLOC}>
  WEFT_BUILD_COMPILER="${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
# What `weft info --mpi` shows is made of weft-mpi's table of functions.
if(WEFT_BUILD_MPI)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  set(weft_mpi_info "${PROJECT_BINARY_DIR}/generated/info/mpi_table.hpp")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/generated/info")
  file(GLOB weft_mpi_rows CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bindings/mpi/table/*.txt")
  add_custom_command(OUTPUT "${weft_mpi_info}"
    COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/bindings/mpi/generate/generate.py" --info "${weft_mpi_info}"
    DEPENDS ${weft_mpi_rows} "${PROJECT_SOURCE_DIR}/bindings/mpi/generate/generate.py" "${PROJECT_SOURCE_DIR}/bindings/mpi/generate/functions.py"
      "${PROJECT_SOURCE_DIR}/bindings/mpi/include/mpi.h"
    COMMENT "Generating what weft info --mpi shows")
  add_custom_target(weft-mpi-info DEPENDS "${weft_mpi_info}")
  target_sources(weft_command_core PRIVATE "${weft_mpi_info}")
  set_source_files_properties("${PROJECT_SOURCE_DIR}/tools/info/mpi.cpp" PROPERTIES COMPILE_DEFINITIONS WEFT_HAS_MPI
    INCLUDE_DIRECTORIES "${PROJECT_BINARY_DIR}/generated/info" SKIP_UNITY_BUILD_INCLUSION ON)
endif()
weft_program(weft-command weft weft_command_core "${PROJECT_SOURCE_DIR}/tools/main.cpp")

# Other libraries that `weft perf` compares with: one plugin each, opened only by the processes that measure them. What is
# not installed has no plugin, and is named as left out.
option(WEFT_PERF_PEERS "Build the plugins of `weft perf` for the libraries that are found (UCX, MPICH, Open MPI)" ON)
set(weft_perf_plugin_folder "${CMAKE_INSTALL_LIBDIR}/weft-perf")
file(RELATIVE_PATH weft_to_plugins "/${CMAKE_INSTALL_BINDIR}" "/${weft_perf_plugin_folder}")

# Loops of a nanosecond are measured: where one lies in its cache lines must not decide between two libraries.
set(weft_perf_alignment -falign-functions=64 -falign-loops=64)

# What experiments share: how they start programs, alternate, and report.
weft_tool(weft_experiment experiment)
weft_compile_lightly(weft_experiment)
target_compile_definitions(weft_experiment PUBLIC WEFT_PERF_PLUGIN_FOLDER="${weft_to_plugins}")

weft_tool(weft_perf_core perf)
target_compile_options(weft_perf_core PRIVATE ${weft_perf_alignment})
target_link_libraries(weft_perf_core PUBLIC weft_experiment ${CMAKE_DL_LIBS})
weft_program(weft-perf weft-perf weft_perf_core "${PROJECT_SOURCE_DIR}/tools/perf/main.cpp")

weft_tool(weft_study_core study)
target_compile_options(weft_study_core PRIVATE ${weft_perf_alignment})
target_link_libraries(weft_study_core PUBLIC weft_experiment weft_parcelports "${WEFT_NETTLE_LIBRARY}")
weft_program(weft-study weft-study weft_study_core "${PROJECT_SOURCE_DIR}/tools/study/main.cpp")

include(WeftPerfPlugins)
include(WeftStudyPeers)
