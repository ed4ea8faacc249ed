# The weft command.

weft_find(CLI11 libcli11-dev WEFT_BUILD_TOOLS)
weft_find(fmt libfmt-dev WEFT_BUILD_TOOLS)
weft_find(nlohmann_json nlohmann-json3-dev WEFT_BUILD_TOOLS)

weft_add_program(weft-command weft weft_command_core "${PROJECT_SOURCE_DIR}/tools")
get_target_property(weft_core_type weft_command_core TYPE)
set(weft_core_scope PUBLIC)
if(weft_core_type STREQUAL "INTERFACE_LIBRARY")
  set(weft_core_scope INTERFACE)
endif()
target_link_libraries(weft_command_core ${weft_core_scope} weft_internal CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json)
target_include_directories(weft_command_core ${weft_core_scope} "${PROJECT_SOURCE_DIR}/tools" "${PROJECT_SOURCE_DIR}")
# What `weft info` reports as build options.
target_compile_definitions(weft_command_core ${weft_core_scope}
  WEFT_BUILD_TYPE="$<CONFIG>"
  WEFT_BUILD_SANITIZER="${WEFT_SANITIZE}"
  WEFT_BUILD_LIBRARY="$<IF:$<BOOL:${BUILD_SHARED_LIBS}>,shared,static>"
  WEFT_BUILD_HWLOC=$<BOOL:${WEFT_HAVE_HWLOC}>
  WEFT_BUILD_COMPILER="${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
